"""search: which concrete inputs does the software discriminate against?"""
