"""Key steps in the formats of other programs: `rgwot export`.

Format ``x`` is the function ``export_x`` of a module that `rgwot.reporting.export.interface.FORMATS` names.
"""
