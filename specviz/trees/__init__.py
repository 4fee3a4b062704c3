"""Draft trees: shapes, growth, ranking in four precisions, verdicts and expected gains."""
