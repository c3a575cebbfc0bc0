drop table knowledge_evaluations;
