"""Mutation testing: does a test notice where the code that decides is changed?"""
