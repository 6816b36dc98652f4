"""MA-sLDA: topics of texts, the truth and how workers miss it, learnt together from texts and a crowd's answers."""
