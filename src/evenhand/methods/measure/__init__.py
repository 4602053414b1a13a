"""measure: how much does the software discriminate?"""
