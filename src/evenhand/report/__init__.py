"""What people see of a result: displays drawn with matplotlib, and text for the terminal."""
