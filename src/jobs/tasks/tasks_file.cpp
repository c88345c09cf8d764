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

void append(std::vector<double>& to, const std::vector<double>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

void write_metrics(Hdf5Writer& file, const std::vector<std::vector<TaskMetric>>& metrics) {
  std::vector<std::string> names;
  std::vector<std::int64_t> task, first = {0};
  std::vector<std::uint8_t> exponential;
  std::vector<double> chance, numerator, weight;
  for (std::size_t t = 0; t < metrics.size(); ++t) {
    for (const TaskMetric& metric : metrics[t]) {
      names.push_back(metric.name);
      task.push_back(static_cast<std::int64_t>(t));
      exponential.push_back(metric.exponential ? 1 : 0);
      chance.push_back(metric.chance);
      append(numerator, metric.numerator);
      append(weight, metric.weight);
      first.push_back(static_cast<std::int64_t>(numerator.size()));
    }
  }
  file.write_strings("/metrics/name", names);
  write_list(file, "/metrics/task", task, "1", "row of /tasks");
  write_list(file, "/metrics/exponential", exponential, "1",
             "1: the value is exp of sum(numerator) / sum(weight), 0: it is this ratio");
  write_list(file, "/metrics/chance", chance, "1",
             "mean accuracy of a blind choice; NaN where there is none");
  write_list(file, "/metrics/first", first, "1",
             "row of numerator and weight; the next entry is where they end");
  write_list(file, "/metrics/numerator", numerator, "1",
             "of the task's documents in turn: 1 where the answer is right, or minus the "
             "log-likelihood in nats (of bits_per_byte: bits)");
  write_list(file, "/metrics/weight", weight, "1", "of the same documents: 1, words or bytes");
}

}  // namespace

void write_tasks(const std::string& path, const Attributes& attributes, const Requests& requests,
                 const RequestScores& scores, const std::vector<std::vector<TaskMetric>>& metrics) {
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
  write_list(file, "/requests/log_likelihood", scores.log_likelihood, "nats",
             "summed over the scored ids of the continuation");
  write_list(file, "/requests/greedy", scores.greedy, "1",
             "1: each of them is the likeliest id, the first of equal ones");
  write_list(file, "/requests/scored", scores.scored, "tokens", "how many ids were scored");
  write_metrics(file, metrics);
  file.commit();
}

}  // namespace lexikos
