"""The connectors of feeds, a file each that binds ``CONNECTOR``."""
