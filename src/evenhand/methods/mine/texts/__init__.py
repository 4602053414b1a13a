"""Mining texts: with which terms are they treated differently?"""
