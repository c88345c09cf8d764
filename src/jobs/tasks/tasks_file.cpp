#include "jobs/tasks/tasks_file.hpp"

#include "hdf5/file.hpp"

namespace lexikos {
namespace {

template <class T>
void write_list(Hdf5Writer& file, const std::string& name, const std::vector<T>& values,
                const std::string& unit, const std::string& definition) {
  file.write(name, {static_cast<std::int64_t>(values.size())}, values.data());
  file.set_attributes(name, Attributes().set("unit", unit).set("definition", definition));
}

void write_task_list(Hdf5Writer& file, const Requests& requests) {
  std::vector<std::string> names, shapes, metrics, descriptions;
  for (const Task& task : requests.tasks) {
    names.push_back(task.name);
    shapes.push_back(task.shape_name);
    metrics.push_back(task.metrics);
    descriptions.push_back(task.description);
  }
  file.write_strings("/tasks/name", names);
  file.write_strings("/tasks/shape", shapes);
  file.write_strings("/tasks/metrics", metrics);
  file.write_strings("/tasks/description", descriptions);
}

}  // namespace

void write_tasks(const std::string& path, const Attributes& attributes, const Requests& requests,
                 const TaskResults& results) {
  Hdf5Writer file(path);
  Attributes root;
  root.set("format", "lexikos-tasks").set("format_version", tasks_format_version);
  file.set_attributes("/", root.add_missing(attributes));
  write_task_list(file, requests);
  write_list(file, "/documents/task", requests.task, "1", "row of /tasks");
  write_list(file, "/documents/gold", requests.gold, "1", "number of the right choice");
  write_list(file, "/documents/words", requests.words, "1", "of a page before detokenisation");
  write_list(file, "/documents/bytes", requests.bytes, "bytes", "of the same, in UTF-8");
  write_list(file, "/documents/first_request", requests.first_request, "1",
             "row of /requests; the next entry is where they end");
  write_list(file, "/requests/choice", requests.choice, "1", "number of the choice");
  write_list(file, "/requests/code_points", requests.code_points, "1",
             "length of the choice in Unicode code points, without what stands before it");
  write_list(file, "/requests/bytes", requests.choice_bytes, "bytes", "the same in UTF-8");
  write_list(file, "/requests/log_likelihood", results.log_likelihood, "nats",
             "summed over the scored ids of the continuation");
  write_list(file, "/requests/greedy", results.greedy, "1",
             "1: each of them is the likeliest id, the first of equal ones");
  write_list(file, "/requests/scored", results.scored, "tokens", "how many ids were scored");
  file.commit();
}

}  // namespace lexikos
