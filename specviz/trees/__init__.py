"""Draft trees: shapes, growth, ranking in four precisions, verification and expected gains."""
