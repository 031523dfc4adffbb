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


class RelativeError(unittest.TestCase):
    def error(self, actual, expected):
        return models.relative_error(np.array(actual, np.float32), np.array(expected, np.float32))

    def test_relative_to_what_is_expected(self):
        self.assertEqual(self.error([3, 5], [3, 4]), (1 / 5, 1 / 4))

    def test_a_value_that_is_not_finite_on_either_side_is_an_infinite_error(self):
        for value in (np.nan, np.inf):
            for actual, expected in (([1, value], [1, 2]), ([1, 2], [1, value]), ([1, value], [1, value])):
                self.assertEqual(max(0.0, self.error(actual, expected)[0]), np.inf, (actual, expected))

    def test_another_shape_is_an_infinite_error(self):
        self.assertEqual(self.error([1, 2], [[1, 2]]), (np.inf, np.inf))

    def test_zeros_agree_with_zeros_alone(self):
        self.assertEqual(self.error([0, 0], [0, 0]), (0, 0))
        self.assertEqual(self.error([0, 1], [0, 0]), (np.inf, np.inf))
        self.assertEqual(self.error([], []), (0, 0))


if __name__ == '__main__':
    unittest.main()
