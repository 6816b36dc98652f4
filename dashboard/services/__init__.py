"""What pages need beside exhibits: datasets and references by name, jobs, uploads; the only place of `st.cache_*`."""
