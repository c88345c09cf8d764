#include "weights/safetensors_writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "utils/error.hpp"
#include "utils/finite.hpp"

namespace lexikos {
namespace {

[[noreturn]] void fail_writing(const std::string& path) {
  fail(Status::file, "cannot write '" + path + "': " + std::strerror(errno));
}

std::string shape_json(const std::vector<Index>& shape) {
  std::string text;
  for (const Index extent : shape) text += (text.empty() ? "" : ",") + std::to_string(extent);
  return "[" + text + "]";
}

/// The header, padded with blanks so that the values behind it are aligned.
std::string header_of(const std::vector<TensorShape>& tensors, const Shard& shard,
                      Element element) {
  std::string text = R"({"__metadata__":{"format":"pt"})";
  Index at = 0;
  for (std::size_t i = shard.begin; i < shard.end; ++i) {
    const Index end = at + row_bytes(element, tensors[i].size());
    text += ",\"" + tensors[i].name + R"(":{"dtype":")" + element_name(element) + R"(","shape":)" +
            shape_json(tensors[i].shape) + R"(,"data_offsets":[)" + std::to_string(at) + "," +
            std::to_string(end) + "]}";
    at = end;
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

Index TensorShape::size() const {
  Index product = 1;
  for (const Index extent : shape) product *= extent;
  return product;
}

std::vector<Shard> plan_shards(const std::vector<TensorShape>& tensors, Element element,
                               Index most) {
  std::vector<Shard> shards;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Index bytes = row_bytes(element, tensors[i].size());
    if (shards.empty() || shards.back().bytes + bytes > most) shards.push_back({i, i, 0});
    shards.back().end = i + 1;
    shards.back().bytes += bytes;
  }
  return shards;
}

SafetensorsWriter::SafetensorsWriter(std::string folder, std::vector<TensorShape> tensors,
                                     Element element, Index shard_bytes)
    : folder_(std::move(folder)),
      tensors_(std::move(tensors)),
      element_(element),
      shards_(plan_shards(tensors_, element, shard_bytes)) {
  open_shard();
}

Index SafetensorsWriter::bytes() const {
  Index total = 0;
  for (const Shard& shard : shards_) total += shard.bytes;
  return total;
}

std::string SafetensorsWriter::file_name(std::size_t shard) const {
  if (shards_.size() == 1) return "model.safetensors";
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", shard + 1, shards_.size());
  return name;
}

void SafetensorsWriter::open_shard() {
  path_ = folder_ + "/" + file_name(shard_);
  file_.reset(std::fopen(path_.c_str(), "wb"));
  if (!file_) fail_writing(path_);
  const std::string header = header_of(tensors_, shards_[shard_], element_);
  const std::uint64_t length = header.size();
  put(&length, sizeof length);
  put(header.data(), header.size());
}

void SafetensorsWriter::close_shard() {
  if (std::fflush(file_.get()) != 0 || ::fsync(::fileno(file_.get())) != 0) fail_writing(path_);
  if (std::fclose(file_.release()) != 0) fail_writing(path_);
}

void SafetensorsWriter::put(const void* data, std::size_t bytes) {
  if (std::fwrite(data, 1, bytes, file_.get()) != bytes) fail_writing(path_);
}

void SafetensorsWriter::refuse_value(Index at, float value) const {
  const TensorShape& tensor = tensors_[tensor_];
  char number[32];
  std::snprintf(number, sizeof number, "%.6g", static_cast<double>(value));
  fail(Status::numerical,
       "cannot write '" + path_ + "': tensor '" + tensor.name + "' has " + number + " at " +
           place_in(written_ + at, tensor.shape) +
           (std::isfinite(value) ? ", which is too large for " : ", which is no value of ") +
           element_name(element_));
}

void SafetensorsWriter::write(const float* values, Index count) {
  if (written_ == tensors_[tensor_].size()) {
    ++tensor_;
    written_ = 0;
    if (tensor_ == shards_[shard_].end) {
      close_shard();
      ++shard_;
      open_shard();
    }
  }
  if (written_ + count > tensors_[tensor_].size()) {
    fail(Status::resource, "'" + tensors_[tensor_].name + "' has fewer values; a fault in Lexikos");
  }
  const Index bad = first_not_finite(values, count);
  if (bad >= 0) refuse_value(bad, values[bad]);
  if (element_ == Element::f32) {
    written_ += count;
    put(values, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  narrow_.resize(static_cast<std::size_t>(count));
  std::transform(values, values + count, narrow_.begin(), narrow_bf16);
  const auto lost = std::find_if(narrow_.begin(), narrow_.end(), [](std::uint16_t bits) {
    return !std::isfinite(widen_bf16(bits));
  });
  if (lost != narrow_.end()) refuse_value(lost - narrow_.begin(), values[lost - narrow_.begin()]);
  written_ += count;
  put(narrow_.data(), narrow_.size() * sizeof(std::uint16_t));
}

void SafetensorsWriter::finish() {
  if (tensor_ + 1 != tensors_.size() || written_ != tensors_.back().size()) {
    fail(Status::resource, "values of '" + tensors_[tensor_].name +
                               "' or of what follows are "
                               "missing; a fault in Lexikos");
  }
  close_shard();
  if (shards_.size() > 1) write_index();
}

void SafetensorsWriter::write_index() {
  std::string text = "{\n  \"metadata\": {\"total_size\": " + std::to_string(bytes()) +
                     "},\n  \"weight_map\": {\n";
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    for (std::size_t i = shards_[s].begin; i < shards_[s].end; ++i) {
      text += "    \"" + tensors_[i].name + "\": \"" + file_name(s) + "\"" +
              (i + 1 == tensors_.size() ? "\n" : ",\n");
    }
  }
  text += "  }\n}\n";
  path_ = folder_ + "/model.safetensors.index.json";
  file_.reset(std::fopen(path_.c_str(), "wb"));
  if (!file_) fail_writing(path_);
  put(text.data(), text.size());
  close_shard();
}

}  // namespace lexikos
