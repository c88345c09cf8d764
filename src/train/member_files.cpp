#include "train/member_files.hpp"

#include <algorithm>
#include <filesystem>

#include "parallel/slice_reader.hpp"
#include "utils/error.hpp"

namespace lexikos {
namespace {

template <class S>
using HostArena = Kokkos::View<S*, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// The three arenas of the state on the host; where memory is the host's these are the arenas.
/// Where the moments are of a slice, so are these.
template <class S>
struct HostState {
  HostArena<S> values, moment1, moment2;
};

template <class S>
HostState<S> mirror_state(const Parameters<S>& p) {
  const Kokkos::HostSpace host;
  return {Kokkos::create_mirror_view(host, p.values()),
          Kokkos::create_mirror_view(host, p.first_moments()),
          Kokkos::create_mirror_view(host, p.second_moments())};
}

/// Where every parameter lies in an arena in host memory.
template <class T, class S>
std::vector<NamedArray<T>> arrays_of(const ParameterList& list, const HostArena<S>& arena) {
  std::vector<NamedArray<T>> arrays;
  for (const ParameterInfo& info : list.infos()) {
    arrays.push_back({info.name, info.shape, host_pointer(arena) + info.offset});
  }
  return arrays;
}

template <class T, class S>
StateArrays<T> arrays_of(const ParameterList& list, const HostState<S>& host) {
  return {arrays_of<T>(list, host.values), arrays_of<T>(list, host.moment1),
          arrays_of<T>(list, host.moment2)};
}

Index row_elements(const ParameterInfo& info) {
  return info.shape.front() == 0 ? 0 : info.size / info.shape.front();
}

/// Moments that the ranks share out, as the root writes them.
template <class S>
std::vector<NamedArray<const S>> arrays_from(SliceReader<S>& reader, int arena,
                                             const ParameterList& list) {
  std::vector<NamedArray<const S>> arrays;
  for (const ParameterInfo& info : list.infos()) {
    arrays.push_back({.name = info.name, .shape = info.shape});
    arrays.back().pass_rows = [&reader, arena, start = info.offset, row = row_elements(info)](
                                  Index begin, Index rows, S* buffer) {
      reader.read(arena, start + begin * row, start + (begin + rows) * row, buffer);
    };
  }
  return arrays;
}

/// Moments of the elements in `range` only: of every array the rows that have some of them.
template <class S>
std::vector<NamedArray<S>> arrays_into(const HostArena<S>& slice, ArenaRange range,
                                       const ParameterList& list) {
  std::vector<NamedArray<S>> arrays;
  for (const ParameterInfo& info : list.infos()) {
    arrays.push_back({.name = info.name, .shape = info.shape});
    const Index row = row_elements(info), start = info.offset;
    const auto place = [&](Index element) {  // in this array
      return std::clamp<Index>(element - start, 0, info.size);
    };
    if (row > 0) {
      arrays.back().first = place(range.begin) / row;
      arrays.back().last = (place(range.end) + row - 1) / row;
    }
    arrays.back().pass_rows = [slice, range, row, start](Index begin, Index rows, S* buffer) {
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

/// Rows of a device matrix as float in host memory.
template <class S>
void copy_rows(const View2<S>& rows, float* out) {
  const Buffer<S> packed(without_initializing("Lexikos::embedding_file::rows"), rows.size());
  Kokkos::deep_copy(packed, View1<S>(rows.data(), rows.size()));
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

template <class S>
void save_state(const std::string& folder, const CheckpointHeader& header,
                const Parameters<S>& parameters, const History& history) {
  const HostState<S> host = mirror_state(parameters);
  Kokkos::deep_copy(host.values, parameters.values());
  Kokkos::deep_copy(host.moment1, parameters.first_moments());
  Kokkos::deep_copy(host.moment2, parameters.second_moments());
  write_checkpoint<S>(checkpoint_path(folder, header.step), header,
                      arrays_of<const S>(parameters.list(), host), history);
}

template <class S>
void save_shared_state(const Communicator& comm, const std::string& folder,
                       const CheckpointHeader& header, const Parameters<S>& parameters,
                       const History& history) {
  if (comm.max(parameters.has_all_moments() ? 0.0 : 1.0) == 0.0) {
    return comm.on_root([&] { save_state(folder, header, parameters, history); });
  }
  const ParameterList& list = parameters.list();
  SliceReader<S> reader(comm, {parameters.first_moments(), parameters.second_moments()},
                        list.arena_size());
  comm.on_all([&] {
    if (!comm.is_root()) return reader.answer();
    // Whatever happens, the others must hear that nothing more is asked.
    struct Closing {
      SliceReader<S>& reader;
      ~Closing() { reader.close(); }
    } const closing{reader};
    const HostArena<S> values =
        Kokkos::create_mirror_view(Kokkos::HostSpace(), parameters.values());
    Kokkos::deep_copy(values, parameters.values());
    write_checkpoint<S>(checkpoint_path(folder, header.step), header,
                        {arrays_of<const S>(list, values), arrays_from(reader, 0, list),
                         arrays_from(reader, 1, list)},
                        history);
  });
}

template <class S>
CheckpointHeader load_state(const std::string& path, Parameters<S>& parameters, History& history,
                            SealCheck seal) {
  const HostState<S> host = mirror_state(parameters);
  const ParameterList& list = parameters.list();
  StateArrays<S> state;
  if (parameters.has_all_moments()) {
    state = arrays_of<S>(list, host);
  } else {
    const ArenaRange range = parameters.moment_range();
    state = {arrays_of<S>(list, host.values), arrays_into(host.moment1, range, list),
             arrays_into(host.moment2, range, list)};
  }
  const CheckpointHeader header = read_checkpoint<S>(path, state, &history, seal);
  Kokkos::deep_copy(parameters.values(), host.values);
  Kokkos::deep_copy(parameters.first_moments(), host.moment1);
  Kokkos::deep_copy(parameters.second_moments(), host.moment2);
  return header;
}

template <class S>
CheckpointHeader load_values(const std::string& path, Parameters<S>& parameters) {
  const HostArena<S> host = Kokkos::create_mirror_view(Kokkos::HostSpace(), parameters.values());
  const CheckpointHeader header = read_parameters<S>(path, arrays_of<S>(parameters.list(), host));
  Kokkos::deep_copy(parameters.values(), host);
  return header;
}

namespace {

/// Overwrites out [count D] with rows [begin, begin + count) of the input matrix.
template <class S>
void copy_input_rows(Model<S>& model, const Buffer<S>& work, Index begin, Index count, float* out) {
  const ExecSpace space;
  const Index width = model.shape().width;
  const Index block = static_cast<Index>(work.size()) / width;
  for (Index done = 0; done < count; done += block) {
    const Index part = std::min(block, count - done);
    const View2<S> rows(work.data(), part, width);
    model.materialise(space, begin + done, part, rows);
    space.fence();
    copy_rows(rows, out + done * width);
  }
}

template <class S>
Buffer<S> block_of_rows(const Model<S>& model) {
  const Index block = std::min<Index>(model.distinct_max(), 4096);
  return Buffer<S>(without_initializing("Lexikos::embedding_file::block"),
                   block * model.shape().width);
}

}  // namespace

template <class S>
std::vector<float> input_matrix_on_host(Model<S>& model) {
  std::vector<float> rows(static_cast<std::size_t>(model.shape().vocabulary * model.shape().width));
  copy_input_rows(model, block_of_rows(model), 0, model.shape().vocabulary, rows.data());
  return rows;
}

template <class S>
std::vector<float> output_matrix_on_host(const Model<S>& model) {
  std::vector<float> rows(static_cast<std::size_t>(model.shape().vocabulary * model.shape().width));
  copy_rows(model.output_matrix(), rows.data());
  return rows;
}

template <class S>
void save_embedding_file(const std::string& path, const Attributes& attributes, Model<S>& model) {
  const Index width = model.shape().width;
  const Buffer<S> work = block_of_rows(model);
  const auto input = [&](Index begin, Index count, float* out) {
    copy_input_rows(model, work, begin, count, out);
  };
  const View2<S> head = model.output_matrix();
  const auto output = [&](Index begin, Index count, float* out) {
    copy_rows(View2<S>(head.data() + begin * width, count, width), out);
  };
  write_embedding(path, attributes, model.shape().vocabulary, width, input, output);
}

#define LEXIKOS_MEMBER_FILES(S)                                                                  \
  template void save_state<S>(const std::string&, const CheckpointHeader&, const Parameters<S>&, \
                              const History&);                                                   \
  template void save_shared_state<S>(const Communicator&, const std::string&,                    \
                                     const CheckpointHeader&, const Parameters<S>&,              \
                                     const History&);                                            \
  template CheckpointHeader load_state<S>(const std::string&, Parameters<S>&, History&,          \
                                          SealCheck);                                            \
  template CheckpointHeader load_values<S>(const std::string&, Parameters<S>&);                  \
  template std::vector<float> input_matrix_on_host<S>(Model<S>&);                                \
  template std::vector<float> output_matrix_on_host<S>(const Model<S>&);                         \
  template void save_embedding_file<S>(const std::string&, const Attributes&, Model<S>&);
LEXIKOS_MEMBER_FILES(float)
LEXIKOS_MEMBER_FILES(double)
#undef LEXIKOS_MEMBER_FILES

}  // namespace lexikos
