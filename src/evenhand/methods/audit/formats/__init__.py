"""The formats that an audit is written in."""
