"""Key steps in the formats of other programs: `rgwot export`.

Format ``x`` is the module `rgwot.reporting.export.x`: its function ``export_x``, listed in `FORMATS`.
"""
