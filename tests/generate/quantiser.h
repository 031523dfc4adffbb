// Tensors as ONNX Runtime's static quantiser writes them: floats that pass through bytes, weights that are bytes, biases that
// are int32.
#pragma once

#include "tests/generate/drawing.h"

namespace smelt::generate {

/// Draws the quantised tensors of one op. All its scales are powers of two, in most graphs, so that all sums are exact.
class Quantiser {
public:
  explicit Quantiser(Drawing &draw) : draw(draw), arePowers(draw.chance(0.75)) {}

  struct Activation {
    Value value;
    double scale;
  };
  /// Floats from bytes, or that pass through bytes.
  Activation activation(const Value &source);
  /// Whether a value may be one.
  static bool takes(const Value &value);

  struct Weight {
    Value value;
    std::vector<double> scales; ///< one, one for each element along the axis, or more
  };
  /// Constant bytes as floats, with a scale for each element along `axis`, for all, or of another form.
  Weight weight(const Shape &shape, size_t axis);

  /// A float for each of `count` channels; or int32 in units of the product of both scales, as the quantiser writes it.
  Value bias(const Size &count, double scale, const Weight &weight);

  /// What becomes of sums of `depth` terms: bytes, and now and then floats again.
  Value result(const Value &sums, double depth);

private:
  /// What the elements of a quantised tensor stand for.
  struct Coding {
    ElementType type;
    Value scale, zeroPoint; ///< a zero point that is omitted is 0
    std::vector<double> scales;
    Attributes attributes;

    double largest() const;
  };
  struct Granularity {
    Shape shape; ///< of scales and zero points
    Attributes attributes;
  };
  struct Exponents {
    int64_t low, high;
  };

  double drawNumber(Exponents exponents);
  Value parameter(ElementType type, const Shape &shape, const std::vector<double> &values);
  /// `zeroes`: how often there are zero points other than 0.
  Coding coding(ElementType type, const Granularity &granularity, Exponents scales, double zeroes);
  Granularity ofAll();
  Granularity alongAxis(const Shape &shape, size_t axis);
  /// Now and then one for each element of an axis, with which no product of bytes is made.
  Granularity activationGranularity(const Shape &shape);
  /// One for each element along `axis`; now and then along the axis of the sums, or for blocks of that one.
  Granularity weightGranularity(const Shape &shape, size_t axis);
  /// Now and then shorts, of which no product of bytes may be made.
  ElementType activationType();
  Value quantized(const Value &value, const Coding &coding);
  Value dequantized(const Value &codes, const Coding &coding);

  Drawing &draw;
  bool arePowers;
};

} // namespace smelt::generate
