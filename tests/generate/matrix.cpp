#include "tests/generate/matrix.h"

#include "tests/generate/rules.h"

namespace smelt::generate {

std::vector<Task> pairTasks() {
  std::vector<Task> tasks;
  for (const Rule &producer : rules())
    for (const Rule &consumer : rules())
      for (ElementType type : everyType())
        tasks.push_back({"pair",
                         tasks.size(),
                         false,
                         {std::string(producer.op), std::string(consumer.op)},
                         type});
  return tasks;
}

std::vector<Task> tripleTasks(size_t count) {
  std::vector<Task> tasks;
  Random random(1);
  auto draw = [&] {
    return std::string(
        rules()[static_cast<size_t>(random.integer(0, static_cast<int64_t>(rules().size())))].op);
  };
  while (tasks.size() < count) {
    std::vector<std::string> ops{draw(), draw(), draw()};
    ElementType type = everyType()[static_cast<size_t>(
        random.integer(0, static_cast<int64_t>(everyType().size())))];
    Task task{"triple", tasks.size(), false, ops, type};
    for (uint64_t attempt = 0; attempt < 4; ++attempt) // what no seed can draw is left out
      if (drawTask(task, attempt, int64_t{1} << 12)) {
        tasks.push_back(task);
        break;
      }
  }
  return tasks;
}

std::vector<Task> every(std::vector<Task> tasks, size_t stride, size_t first) {
  std::vector<Task> result;
  for (size_t i = first; i < tasks.size(); i += stride)
    result.push_back(std::move(tasks[i]));
  return result;
}

} // namespace smelt::generate
