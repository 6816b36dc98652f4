"""The Streamlit app: it asks `services`, shows what it gets, and computes nothing."""
