"""Uses of undocumented behaviour of libraries, one module per library."""
