// When two results agree.
//
// | element type | relative norm | why |
// | --- | --- | --- |
// | float64 | 1e-10 | 53 bits; but scales and epsilons, which are float32 attributes of the ops |
// | float32 | 2e-5 | 24 bits; sums of at most some thousand terms in float32, functions within a few units |
// | float16, bfloat16 | 5e-3, 2e-2 | 11 and 8 bits; factors and weights of attention rounded once more inside a kernel |
// | integers, bools | equal | |
//
// The type that counts is the narrowest float that occurs in the graph. On top comes what rounding does to this very graph
// with these very inputs: the reference is computed again with every result of arithmetic moved at random by half a unit of
// its declared type (`reference.h`). A kernel that rounds as declared errs by about as much, so a limit of several times
// that much separates rounding from wrong results however badly conditioned the graph is; where rounding alone changes a
// discrete result or drowns a float one, nothing can be said and the graph is drawn again. Sums of products of floats of 8 bits
// are moved further, for tensor cores keep 14 bits of them.
#pragma once

#include "tests/generate/data.h"

namespace smelt::generate {

/// What rounding alone does to an output.
struct Sensitivity {
  double relative = 0; ///< norm of the change by the norm of the output
  double worst =
      0; ///< largest change of one element by the larger of its magnitude and the output's root mean square
  bool isDiscreteStable = true;
};

/// One tensor as doubles; 64-bit integers beyond 2^53 do not occur.
struct Numbers {
  std::vector<int64_t> shape;
  std::vector<double> values;
};

Numbers toNumbers(const Array &array);

/// Of `moved`, the same output computed with rounding, against `reference`. Keeps the larger of both in `sensitivity`.
void addSensitivity(const Numbers &reference, const Numbers &moved, bool isFloat,
                    Sensitivity &sensitivity);

/// The limit of the relative norm where the narrowest float of a graph is `narrowest`.
double baseLimit(ElementType narrowest);

struct Verdict {
  bool agrees = true;
  double relative = 0;
  std::string text; ///< of a disagreement: both errors, limits, the worst element
};

/// `exact`: integers and bools.
Verdict compare(const Numbers &output, const Numbers &reference, bool exact, double base,
                const Sensitivity &sensitivity);

} // namespace smelt::generate
