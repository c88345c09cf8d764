#include "train/member_files.hpp"

#include <algorithm>
#include <filesystem>

#include "parallel/slice_reader.hpp"
#include "state/finite.hpp"
#include "utils/error.hpp"
#include "utils/finite.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

using HostArena = Kokkos::View<float*, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// The three arenas of the state on the host; where memory is the host's these are the arenas.
/// Where the moments are of a slice, so are these.
struct HostState {
  HostArena values, moment1, moment2;
};

HostState mirror_state(const Parameters<float>& p) {
  const Kokkos::HostSpace host;
  return {Kokkos::create_mirror_view(host, p.values()),
          Kokkos::create_mirror_view(host, p.first_moments()),
          Kokkos::create_mirror_view(host, p.second_moments())};
}

/// Where every parameter lies in an arena in host memory.
template <class T>
std::vector<NamedArray<T>> arrays_of(const ParameterInfos& list, const HostArena& arena) {
  std::vector<NamedArray<T>> arrays;
  for (const ParameterInfo& info : list) {
    arrays.push_back({info.name, info.shape, host_pointer(arena) + info.offset});
  }
  return arrays;
}

template <class T>
StateArrays<T> arrays_of(const ParameterInfos& list, const HostState& host) {
  return {arrays_of<T>(list, host.values), arrays_of<T>(list, host.moment1),
          arrays_of<T>(list, host.moment2)};
}

Index row_elements(const ParameterInfo& info) {
  return info.shape.front() == 0 ? 0 : info.size / info.shape.front();
}

/// Moments that the ranks share out, as the root writes them.
std::vector<NamedArray<const float>> arrays_from(SliceReader<float>& reader, int arena,
                                                 const ParameterInfos& list) {
  std::vector<NamedArray<const float>> arrays;
  for (const ParameterInfo& info : list) {
    arrays.push_back({.name = info.name, .shape = info.shape});
    arrays.back().pass_rows = [&reader, arena, start = info.offset, row = row_elements(info)](
                                  Index begin, Index rows, float* buffer) {
      reader.read(arena, start + begin * row, start + (begin + rows) * row, buffer);
    };
  }
  return arrays;
}

/// Moments of the elements in `range` only: of every array the rows that have some of them.
std::vector<NamedArray<float>> arrays_into(const HostArena& slice, ArenaRange range,
                                           const ParameterInfos& list) {
  std::vector<NamedArray<float>> arrays;
  for (const ParameterInfo& info : list) {
    arrays.push_back({.name = info.name, .shape = info.shape});
    const Index row = row_elements(info), start = info.offset;
    const auto place = [&](Index element) {  // in this array
      return std::clamp<Index>(element - start, 0, info.size);
    };
    if (row > 0) {
      arrays.back().first = place(range.begin) / row;
      arrays.back().last = (place(range.end) + row - 1) / row;
    }
    arrays.back().pass_rows = [slice, range, row, start](Index begin, Index rows, float* buffer) {
      const Index here = start + begin * row;  // element of the arena that buffer[0] is
      const Index from = std::max(here, range.begin);
      const Index until = std::min(here + rows * row, range.end);
      if (from < until) {
        std::copy_n(buffer + (from - here), until - from,
                    host_pointer(slice) + (from - range.begin));
      }
    };
  }
  return arrays;
}

/// What a file brought must be numbers, before anything is computed of it.
void require_finite_from(const std::string& path, const Parameters<float>& parameters) {
  require_finite(parameters, Status::file, "cannot use '" + path + "'",
                 "go on from another checkpoint");
}

/// What a file is to keep must be numbers, or it takes the place of one that has them.
void require_finite_for(const std::string& path, const Parameters<float>& parameters) {
  require_finite(parameters, Status::numerical, "cannot write '" + path + "'",
                 "older checkpoints are as they were; lower optimizer.learning_rate or "
                 "optimizer.clip_norm where training made it so");
}

/// The same of rows [begin, ...) of one of the two matrices of an embedding.h5.
void require_finite_rows(const char* matrix, Index begin, Index width, const float* rows,
                         Index count) {
  const Index bad = first_not_finite(rows, count * width);
  if (bad < 0) return;
  fail(Status::numerical, std::string("cannot write embedding.h5: its matrix '") + matrix +
                              "' has " + format_real(rows[bad]) + " at row " +
                              std::to_string(begin + bad / width) + ", column " +
                              std::to_string(bad % width) + "; the model computes no numbers");
}

/// Rows of a device matrix as float in host memory.
void copy_rows(const View2<float>& rows, float* out) {
  const Buffer<float> packed(without_initializing("Lexikos::embedding_file::rows"), rows.size());
  Kokkos::deep_copy(packed, View1<float>(rows.data(), rows.size()));
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), packed);
  for (std::size_t i = 0; i < host.size(); ++i) out[i] = static_cast<float>(host(i));
}

}  // namespace

void make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    fail(Status::file, "cannot make the output folder '" + path + "': " + error.message() +
                           "; choose another with -d");
  }
}

void save_state(const std::string& folder, const CheckpointHeader& header,
                const Parameters<float>& parameters, const History& history) {
  require_finite_for(checkpoint_path(folder, header.step), parameters);
  const HostState host = mirror_state(parameters);
  Kokkos::deep_copy(host.values, parameters.values());
  Kokkos::deep_copy(host.moment1, parameters.first_moments());
  Kokkos::deep_copy(host.moment2, parameters.second_moments());
  write_checkpoint<float>(checkpoint_path(folder, header.step), header,
                          arrays_of<const float>(parameters.infos(), host), history);
}

void save_shared_state(const Communicator& comm, const std::string& folder,
                       const CheckpointHeader& header, const Parameters<float>& parameters,
                       const History& history) {
  if (comm.max(parameters.has_all_moments() ? 0.0 : 1.0) == 0.0) {
    return comm.on_root([&] { save_state(folder, header, parameters, history); });
  }
  comm.on_all([&] { require_finite_for(checkpoint_path(folder, header.step), parameters); });
  const ParameterInfos& list = parameters.infos();
  SliceReader<float> reader(comm, {parameters.first_moments(), parameters.second_moments()},
                            parameters.arena_size());
  comm.on_all([&] {
    if (!comm.is_root()) return reader.answer();
    // Whatever happens, the others must hear that nothing more is asked.
    struct Closing {
      SliceReader<float>& reader;
      ~Closing() { reader.close(); }
    } const closing{reader};
    const HostArena values = Kokkos::create_mirror_view(Kokkos::HostSpace(), parameters.values());
    Kokkos::deep_copy(values, parameters.values());
    write_checkpoint<float>(checkpoint_path(folder, header.step), header,
                            {arrays_of<const float>(list, values), arrays_from(reader, 0, list),
                             arrays_from(reader, 1, list)},
                            history);
  });
}

CheckpointHeader load_state(const std::string& path, Parameters<float>& parameters,
                            History& history) {
  const HostState host = mirror_state(parameters);
  const ParameterInfos& list = parameters.infos();
  StateArrays<float> state;
  if (parameters.has_all_moments()) {
    state = arrays_of<float>(list, host);
  } else {
    const ArenaRange range = parameters.moment_range();
    state = {arrays_of<float>(list, host.values), arrays_into(host.moment1, range, list),
             arrays_into(host.moment2, range, list)};
  }
  const CheckpointHeader header = read_checkpoint<float>(path, state, &history);
  Kokkos::deep_copy(parameters.values(), host.values);
  Kokkos::deep_copy(parameters.first_moments(), host.moment1);
  Kokkos::deep_copy(parameters.second_moments(), host.moment2);
  require_finite_from(path, parameters);
  return header;
}

CheckpointHeader load_values(const std::string& path, Parameters<float>& parameters) {
  const HostArena host = Kokkos::create_mirror_view(Kokkos::HostSpace(), parameters.values());
  const CheckpointHeader header =
      read_parameters<float>(path, arrays_of<float>(parameters.infos(), host));
  Kokkos::deep_copy(parameters.values(), host);
  require_finite_from(path, parameters);
  return header;
}

namespace {

/// Overwrites out [count D] with rows [begin, begin + count) of the input matrix.
void copy_input_rows(Model<float>& model, const Buffer<float>& work, Index begin, Index count,
                     float* out) {
  const ExecSpace space;
  const Index width = model.shape().width;
  const Index block = static_cast<Index>(work.size()) / width;
  for (Index done = 0; done < count; done += block) {
    const Index part = std::min(block, count - done);
    const View2<float> rows(work.data(), part, width);
    model.materialise(space, begin + done, rows);
    space.fence();
    copy_rows(rows, out + done * width);
  }
}

Buffer<float> block_of_rows(const Model<float>& model) {
  const Index block = std::min<Index>(model.shape().vocabulary, 4096);
  return Buffer<float>(without_initializing("Lexikos::embedding_file::block"),
                       block * model.shape().width);
}

}  // namespace

std::vector<float> input_matrix_on_host(Model<float>& model) {
  std::vector<float> rows(static_cast<std::size_t>(model.shape().vocabulary * model.shape().width));
  copy_input_rows(model, block_of_rows(model), 0, model.shape().vocabulary, rows.data());
  return rows;
}

std::vector<float> output_matrix_on_host(const Model<float>& model) {
  std::vector<float> rows(static_cast<std::size_t>(model.shape().vocabulary * model.shape().width));
  copy_rows(model.output_matrix(), rows.data());
  return rows;
}

void save_embedding_file(const std::string& path, const Attributes& attributes,
                         Model<float>& model) {
  const Index width = model.shape().width;
  const Buffer<float> work = block_of_rows(model);
  const auto input = [&](Index begin, Index count, float* out) {
    copy_input_rows(model, work, begin, count, out);
    require_finite_rows("input", begin, width, out, count);
  };
  const View2<float> head = model.output_matrix();
  const auto output = [&](Index begin, Index count, float* out) {
    copy_rows(View2<float>(head.data() + begin * width, count, width), out);
    require_finite_rows("output", begin, width, out, count);
  };
  write_embedding(path, attributes, model.shape().vocabulary, width, input, output);
}

}  // namespace lexikos
