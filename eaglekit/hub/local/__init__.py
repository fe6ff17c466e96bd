"""The folder to publish: which files may leave, what they hold, the report that binds them, the signature."""
