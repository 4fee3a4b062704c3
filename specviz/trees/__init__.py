"""Draft trees: shapes as data, growth, ranking in four precisions, verdicts and what they bring."""
