"""Services of pages: datasets and references by name, jobs, uploads; the only place of `st.cache_*`."""
