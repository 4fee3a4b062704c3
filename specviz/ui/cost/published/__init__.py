"""What papers and notes report, each number with its source."""
