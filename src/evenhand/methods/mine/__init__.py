"""mine: which readable subgroups are treated differently?"""
