"""Key steps in the formats of other programs: `rgwot export`.

Format ``x`` is the module `rgwot.reporting.export.x`: its ``ABOUT`` (`rgwot.config.about`) and ``export_x``.
"""
