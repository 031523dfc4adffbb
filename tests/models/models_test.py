#!/usr/bin/env python3
"""What the tests of models lean on: a name that is not known ends the program, and no error hides behind a NaN."""
import contextlib
import io
import unittest

import numpy as np

import models


class Named(unittest.TestCase):
    def test_all_or_those_of_the_list(self):
        self.assertEqual(models.named(models.MODELS, None), models.MODELS)
        self.assertEqual([model.name for model in models.named(models.MODELS, 'rxnmap,digits_vit')], ['rxnmap', 'digits_vit'])

    def test_unknown_name_ends_the_program_with_the_known_ones(self):
        complaint = io.StringIO()
        with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(complaint):
            models.named(models.MODELS, 'digits_vit,bert_384')
        self.assertEqual(ended.exception.code, 2)
        self.assertRegex(complaint.getvalue(), r"there is no 'bert_384'; there are: .*\bdigits_vit\b")


if __name__ == '__main__':
    unittest.main()
