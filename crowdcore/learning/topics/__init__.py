"""MA-sLDAc: topics, the true class and workers' confusions, learnt together from texts and a crowd's labels."""
