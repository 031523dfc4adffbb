// Reports of tasks as lines of JSON, and what they add up to.
#pragma once

#include "tests/generate/run.h"

#include "llvm/Support/JSON.h"

#include <map>

namespace smelt::generate {

/// One line; the same report from it.
std::string toLine(const Report &report);
std::optional<Report> fromLine(const std::string &line);

/// Enters what is in the graph: ops, element types, pairs of producer and consumer.
void describe(const Graph &graph, Report &report);

/// The totals of a run.
class Summary {
public:
  explicit Summary(const std::vector<Task> &tasks) : tasks(tasks), latest(tasks.size()) {}

  void add(const Report &report);
  /// Reports of failures, in the order of tasks.
  std::vector<Report> failures() const;
  size_t count(Report::State state) const;
  size_t reported() const;
  /// A row for each kind, for people.
  std::string table() const;
  /// {"schema": "smelt.generate/1", ...}: counts, failures, and what was drawn how often.
  llvm::json::Value json(double seconds) const;

private:
  struct Row {
    size_t graphs = 0, dynamic = 0, agree = 0, fail = 0, rejected = 0, impossible = 0, kernels = 0,
           comparisons = 0, redraws = 0;
    double seconds = 0;
  };
  std::map<std::string, Row> rows() const;

  const std::vector<Task> &tasks;
  std::vector<std::optional<Report>> latest;
};

} // namespace smelt::generate
