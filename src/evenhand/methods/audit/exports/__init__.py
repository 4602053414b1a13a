"""Files that people hand over: the report as PDF, and the tables of an audit as CSV and XLSX."""
