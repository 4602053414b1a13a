"""evenhand init: what the data and the software tell, as a configuration that runs."""
