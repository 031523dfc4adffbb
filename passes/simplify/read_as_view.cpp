#include "passes/simplify/read_as_view.h"

#include "passes/constants.h"
#include "passes/view_shape.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace smelt::passes {

namespace {

/// start + the sum of slope * coordinate.
struct Linear {
  Dim start;
  SmallVector<std::pair<unsigned, Dim>> slopes; // by coordinate
};

std::optional<Linear> asLinear(Dim expression) {
  MLIRContext *context = expression.getContext();
  Linear result{Dim::constant(context, 0), {}};
  for (const Dim::Term &term : expression.getTerms()) {
    Dim summand = Dim::fromTerms(context, {term});
    std::optional<unsigned> axis;
    Dim::Term slope{term.coefficient, {}};
    for (Attribute atom : term.atoms) {
      auto name = dyn_cast<StringAttr>(atom);
      std::optional<unsigned> found = name ? coordinateAxis(name.getValue()) : std::nullopt;
      bool hidden = !name && usesCoordinates(Dim::fromTerms(context, {{1, {atom}}}));
      if (hidden || (found && axis))
        return std::nullopt;
      if (found)
        axis = found;
      else
        slope.atoms.push_back(atom);
    }
    if (!axis) {
      result.start = result.start + summand;
      continue;
    }
    Dim factor = Dim::fromTerms(context, {slope});
    auto *entry = llvm::find_if(result.slopes, [&](auto &pair) { return pair.first == *axis; });
    if (entry == result.slopes.end())
      result.slopes.push_back({*axis, factor});
    else
      entry->second = entry->second + factor;
  }
  return result;
}

/// The read while it is brought to one coordinate an axis.
struct Read {
  SmallVector<Dim> sizes, index;
  Bounds bounds;

  /// Splits axis `axis` at one of its strides: index q*stride + r becomes the two indices q and r.
  LogicalResult split(unsigned axis, const Linear &linear) {
    for (auto &[coordinateAxis, stride] : linear.slopes) {
      std::optional<Dim> outer = stride.isConstant(1) ? std::nullopt : sizes[axis].exactDiv(stride);
      if (!outer)
        continue;
      Dim quotient = index[axis].floorDiv(stride, bounds),
          remainder = index[axis].mod(stride, bounds);
      if (quotient * stride + remainder != index[axis] || !asLinear(quotient) ||
          !asLinear(remainder))
        continue;
      sizes[axis] = *outer;
      index[axis] = quotient;
      sizes.insert(sizes.begin() + axis + 1, stride);
      index.insert(index.begin() + axis + 1, remainder);
      return success();
    }
    return failure();
  }

  /// Splits until each axis is read at start + step * one coordinate with a constant step.
  FailureOr<SmallVector<Linear>> separate() {
    SmallVector<Linear> axes;
    for (unsigned axis = 0; axis < index.size(); ++axis) {
      std::optional<Linear> linear = asLinear(index[axis]);
      if (!linear)
        return failure();
      bool single =
          linear->slopes.size() <= 1 &&
          (linear->slopes.empty() || linear->slopes.front().second.asConstant().has_value());
      if (single) {
        axes.push_back(*linear);
        continue;
      }
      if (failed(split(axis, *linear)))
        return failure();
      --axis; // the outer part is looked at again
    }
    return axes;
  }
};

/// Largest value of an axis' index plus one; it must not exceed the axis' size.
Dim endOf(const Linear &axis, ArrayRef<Dim> shape) {
  Dim end = axis.start + 1;
  for (auto &[coordinateAxis, slope] : axis.slopes)
    if (*slope.asConstant() > 0)
      end = end + (shape[coordinateAxis] - 1) * slope;
  return end;
}

/// Each result coordinate is read by at most one axis.
bool areDistinct(ArrayRef<Linear> axes) {
  llvm::SmallSet<unsigned, 8> seen;
  return llvm::all_of(axes, [&](const Linear &axis) {
    return axis.slopes.empty() || seen.insert(axis.slopes.front().first).second;
  });
}

/// The result coordinate that an axis is read at; axes read at one point come last.
unsigned coordinateOf(const Linear &axis) {
  return axis.slopes.empty() ? std::numeric_limits<unsigned>::max() : axis.slopes.front().first;
}

/// The part of `data` that is read: one axis for each of `axes`, of size 1 for a point.
Value sliceAxes(OpBuilder &builder, Location location, Value data, ArrayRef<Linear> axes,
                ArrayRef<Dim> shape) {
  SmallVector<Attribute> starts;
  SmallVector<int64_t> steps;
  SmallVector<Dim> sizes;
  for (const Linear &axis : axes) {
    bool isPoint = axis.slopes.empty();
    starts.push_back(axis.start.getAttribute());
    steps.push_back(isPoint ? 1 : *axis.slopes.front().second.asConstant());
    sizes.push_back(isPoint ? Dim::constant(builder.getContext(), 1) : shape[coordinateOf(axis)]);
  }
  auto isZero = [](Attribute start) { return Dim(cast<DimAttr>(start)).isConstant(0); };
  bool whole = sizes == tensorType(data).getShape() && llvm::all_of(starts, isZero) &&
               llvm::all_of(steps, [](int64_t step) { return step == 1; });
  if (whole)
    return data;
  return SliceOp::create(builder, location, tensorType(data).withShape(sizes), data,
                         builder.getArrayAttr(starts), builder.getDenseI64ArrayAttr(steps));
}

/// Axes into the order of the coordinates that they are read at.
Value orderAxes(OpBuilder &builder, Location location, Value data, ArrayRef<Linear> axes) {
  SmallVector<int64_t> permutation(llvm::to_vector(llvm::seq<int64_t>(axes.size())));
  llvm::sort(permutation, [&](int64_t a, int64_t b) {
    return std::pair(coordinateOf(axes[a]), a) < std::pair(coordinateOf(axes[b]), b);
  });
  return llvm::is_sorted(permutation)
             ? data
             : TransposeOp::create(builder, location, data, permutation).getOutput();
}

} // namespace

Value readAsView(OpBuilder &builder, Location location, Value data, ArrayRef<Dim> index,
                 ArrayRef<Dim> shape, SmallVectorImpl<SizeRequirement> &requirements) {
  Read read{tensorType(data).getShape(), SmallVector<Dim>(index), coordinateBounds(shape)};
  FailureOr<SmallVector<Linear>> axes = read.separate();
  if (failed(axes) || !areDistinct(*axes))
    return {};
  SmallVector<Dim> placed(shape.size(), Dim::constant(builder.getContext(), 1));
  SmallVector<SizeRequirement, 2> needed;
  for (auto [axis, linear] : llvm::enumerate(*axes)) {
    if (!read.index[axis].isKnownNonNegative(read.bounds)) {
      // The last element of an axis: where the axis has one.
      Bounds nonEmpty = read.bounds;
      nonEmpty["#read"] = read.sizes[axis];
      if (!read.index[axis].isKnownNonNegative(nonEmpty))
        return {};
      needed.push_back({Dim::constant(builder.getContext(), 1), read.sizes[axis]});
    }
    if (!(read.sizes[axis] - 1 - read.index[axis]).isKnownNonNegative(read.bounds))
      needed.push_back({endOf(linear, shape), read.sizes[axis]});
    if (!linear.slopes.empty())
      placed[coordinateOf(linear)] = shape[coordinateOf(linear)];
  }
  // Indices that no size allows are for the gather to judge.
  if (llvm::any_of(needed, [](const SizeRequirement &each) {
        return (each.needed - each.available - 1).isKnownNonNegative();
      }))
    return {};
  llvm::append_range(requirements, needed);
  Value value = reshapeTo(builder, location, data, read.sizes);
  value = sliceAxes(builder, location, value, *axes, shape);
  value = orderAxes(builder, location, value, *axes);
  value = reshapeTo(builder, location, value, placed);
  return broadcastTo(builder, location, value, tensorType(data).withShape(shape));
}

} // namespace smelt::passes
