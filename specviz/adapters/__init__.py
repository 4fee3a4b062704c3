"""What specviz assumes about its libraries beyond their documented APIs, one by one."""
