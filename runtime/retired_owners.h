// What kept memory that a context was bound to, after something else was bound: runs in flight may still use the memory.
#pragma once

#include "runtime/driver.h"

#include <set>
#include <vector>

namespace smelt::runtime {

/// Drops each as soon as it is known that no run can use its memory. Waits for nothing.
class RetiredOwners {
public:
  using Owner = std::shared_ptr<const void>;

  /// Runs that were enqueued until now may use their memory. With the device current.
  void add(const DriverApi &api, std::vector<Owner> owners);
  /// A graph that outlives this call uses their memory: they are kept as long as the object.
  void keepForGraph(std::vector<Owner> owners) { ofGraphs.insert(owners.begin(), owners.end()); }

  /// To be called behind every run on its stream, with the device current. Allocates nothing.
  Status mark(const DriverApi &api, CUstream stream);
  /// Drops those whose runs are over.
  void dropUnused(const DriverApi &api);
  /// For when every run that was enqueued is over.
  void dropAll();
  bool isEmpty() const { return fresh.empty() && marked.empty(); }

  /// With the device current, before the end.
  void destroyEvent(const DriverApi &api);

private:
  std::vector<Owner> fresh;  ///< since the last mark
  std::vector<Owner> marked; ///< in use until the device reaches `event`
  std::set<Owner> ofGraphs;
  CUevent event = nullptr; ///< null: there is none, and what is fresh waits for dropAll()
};

} // namespace smelt::runtime
