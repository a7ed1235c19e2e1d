"""The connectors that read and write topics, a file each, beside those of
:mod:`arroyo_nb.connectors`."""
