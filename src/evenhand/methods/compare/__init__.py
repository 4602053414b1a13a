"""compare: is a mitigation better than blindly giving up accuracy?"""
