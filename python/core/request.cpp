#include "python/core/request.h"

#include "python/core/errors.h"

#include <algorithm>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace smelt::python {

namespace {

nb::dict placesOf(const std::vector<TensorInfo> &infos) {
  nb::dict places;
  for (std::size_t place = 0; place < infos.size(); ++place)
    places[nb::str(infos[place].name.c_str())] = place;
  return places;
}

/// Null where there is none.
nb::object find(const nb::dict &dict, nb::handle key) {
  nb::object found = nb::borrow(PyDict_GetItemWithError(dict.ptr(), key.ptr()));
  if (!found.is_valid() && PyErr_Occurred())
    throw nb::python_error();
  return found;
}

[[noreturn]] void refuseName(const char *role, nb::handle name, const nb::dict &places) {
  std::string known;
  for (auto [other, place] : places)
    known += (known.empty() ? "'" : ", '") + nb::cast<std::string>(nb::str(other)) + "'";
  refuse("the model has no " + std::string(role) + " " + nb::repr(name).c_str() + "; it has " +
         known);
}

std::size_t placeOf(const char *role, nb::handle name, const nb::dict &places) {
  nb::object place = find(places, name);
  if (!place.is_valid())
    refuseName(role, name, places);
  return nb::cast<std::size_t>(place);
}

/// A dictionary as it is, and any other mapping as one.
nb::dict dictOf(const char *what, const char *role, nb::handle given) {
  if (PyDict_CheckExact(given.ptr()))
    return nb::borrow<nb::dict>(given);
  nb::object mapping = nb::module_::import_("collections.abc").attr("Mapping");
  if (PyObject_IsInstance(given.ptr(), mapping.ptr()) != 1) {
    std::string type = nb::cast<std::string>(given.type().attr("__name__"));
    std::string message = std::string(what) + " are of type " + type +
                          ": give a dictionary of tensors by the " + role + "s' names";
    throw nb::type_error(message.c_str());
  }
  nb::dict made;
  if (PyDict_Update(made.ptr(), given.ptr()) != 0)
    throw nb::python_error();
  return made;
}

/// Names the model lacks, or else inputs that nobody gave a value.
[[noreturn]] void refuseFeeds(const nb::dict &places, const nb::dict &feeds) {
  for (auto [name, value] : feeds)
    placeOf("input", name, places);
  std::string missing;
  for (auto [name, place] : places)
    if (!feeds.contains(name))
      missing +=
          (missing.empty() ? "input '" : ", input '") + nb::cast<std::string>(nb::str(name)) + "'";
  refuse("no value was given for " + missing);
}

} // namespace

bool Request::hasInputIn(smelt_location location) const {
  auto isThere = [=](const TensorView &view) { return view.location == location; };
  return std::any_of(inputs.begin(), inputs.end(), isThere);
}

bool Request::usesHost() const {
  auto isThere = [](const auto &target) { return target && target->location == SMELT_HOST; };
  return hasInputIn(SMELT_HOST) || std::any_of(targets.begin(), targets.end(), isThere);
}

std::vector<TensorView> Request::takeTensors() {
  std::vector<TensorView> tensors = std::move(inputs);
  for (std::optional<TensorView> &target : targets)
    if (target)
      tensors.push_back(std::move(*target));
  targets.clear();
  return tensors;
}

nb::list Request::results() const {
  nb::list list;
  for (std::size_t place : wanted)
    list.append(outputs[place]);
  return list;
}

Signature::Signature(std::vector<TensorInfo> inputs, std::vector<TensorInfo> outputs)
    : inputInfos(std::move(inputs)), outputInfos(std::move(outputs)),
      inputPlaces(placesOf(inputInfos)), outputPlaces(placesOf(outputInfos)) {}

Request Signature::read(const TensorReader &reader, nb::handle names, nb::handle feeds,
                        nb::handle targets, std::uintptr_t stream) const {
  Request request;
  request.targets.resize(outputInfos.size());
  request.outputs.resize(outputInfos.size());
  readNames(names, request);
  if (!targets.is_none())
    readTargets(reader, targets, stream, request);
  request.inputs = readFeeds(reader, feeds, stream);
  return request;
}

void Signature::readNames(nb::handle names, Request &request) const {
  if (names.is_none()) {
    for (std::size_t place = 0; place < outputInfos.size(); ++place)
      request.wanted.push_back(place);
    return;
  }
  for (nb::handle name : nb::iter(names))
    request.wanted.push_back(placeOf("output", name, outputPlaces));
}

void Signature::readTargets(const TensorReader &reader, nb::handle given, std::uintptr_t stream,
                            Request &request) const {
  for (auto [name, value] : dictOf("outputs", "output", given)) {
    std::size_t place = placeOf("output", name, outputPlaces);
    request.targets[place] = reader.read(value, stream, "output", name, true);
    request.outputs[place] = nb::borrow(value);
  }
}

std::vector<TensorView> Signature::readFeeds(const TensorReader &reader, nb::handle feeds,
                                             std::uintptr_t stream) const {
  nb::dict given = dictOf("feeds", "input", feeds);
  if (given.size() != inputPlaces.size())
    refuseFeeds(inputPlaces, given);
  std::vector<TensorView> views;
  views.reserve(inputInfos.size());
  for (auto [name, place] : inputPlaces) {
    nb::object value = find(given, name);
    if (!value.is_valid())
      refuseFeeds(inputPlaces, given);
    views.push_back(reader.read(value, stream, "input", name, false));
  }
  return views;
}

} // namespace smelt::python
