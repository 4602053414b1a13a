"""subsets: which sets of features does the software discriminate by?"""
