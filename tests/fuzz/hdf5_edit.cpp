#include "fuzz/hdf5_edit.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "fuzz/hdf5_edits.hpp"
#include "fuzz/reader.hpp"
#include "hdf5/detail.hpp"

namespace lexikos::fuzz {

using lexikos::detail::Handle;

std::int64_t edge(std::uint32_t index) {
  constexpr std::int64_t one = 1;
  constexpr std::array<std::int64_t, 20> edges = {0,
                                                  1,
                                                  2,
                                                  3,
                                                  5,
                                                  12,
                                                  64,
                                                  255,
                                                  65535,
                                                  65536,
                                                  one << 31,
                                                  (one << 31) - 1,
                                                  one << 32,
                                                  (one << 32) - 1,
                                                  one << 48,
                                                  one << 61,
                                                  one << 62,
                                                  std::numeric_limits<std::int64_t>::max(),
                                                  std::numeric_limits<std::int64_t>::min(),
                                                  -1};
  return edges[index % edges.size()];
}

namespace {

/// An open file under edits.
class Editor {
 public:
  Editor(const std::string& path, const Base& base)
      : base_(base),
        file_(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose),
        scalar_(H5Screate(H5S_SCALAR), H5Sclose) {}

  void apply(const Edit& edit) {
    const std::string& object = base_.objects[edit.object % base_.objects.size()];
    switch (kind_of(edit)) {
      case EditKind::retype:
        return retype(object, edit);
      case EditKind::reshape:
        return reshape(object, edit);
      case EditKind::layout:
        return lay_out(object, edit);
      case EditKind::unwritten:
        return unwrite(object, edit);
      case EditKind::remove:
        if (object != "/") remove(object);
        return tell("removed " + object);
      case EditKind::link:
        return relink(object, edit);
      case EditKind::attribute:
        return set_attribute(object, edit);
      case EditKind::value:
        return set_value(object, edit);
      case EditKind::extra:
        return add_extra(object, edit);
      default:
        return;  // not the library's
    }
  }

  [[nodiscard]] const std::string& told() const { return told_; }
  [[nodiscard]] bool valid() const { return file_.valid(); }

 private:
  /// What a dataset that is made anew is like.
  struct Kept {
    Handle type;
    std::vector<hsize_t> extents;
    std::vector<std::int64_t> values;
  };

  void tell(const std::string& what) { told_ += what + "\n"; }
  void remove(const std::string& object) { H5Ldelete(file_.id(), object.c_str(), H5P_DEFAULT); }

  /// Type, extents and, as integers, the values of a small dataset; false where it is none.
  bool look(const std::string& object, Kept& kept) const {
    const Handle dataset(H5Dopen2(file_.id(), object.c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset.valid()) return false;
    kept.type = Handle(H5Dget_type(dataset.id()), H5Tclose);
    const Handle space(H5Dget_space(dataset.id()), H5Sclose);
    const int rank = H5Sget_simple_extent_ndims(space.id());
    const auto size = H5Sget_simple_extent_npoints(space.id());
    if (rank < 0 || size < 0 || size > 65536) return false;
    kept.extents.resize(static_cast<std::size_t>(rank));
    H5Sget_simple_extent_dims(space.id(), kept.extents.data(), nullptr);
    kept.values.assign(static_cast<std::size_t>(size), 1);
    H5Dread(dataset.id(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, kept.values.data());
    return true;
  }

  /// Makes a dataset in place of `object`; writes `values` where their number is right.
  void make(const std::string& object, hid_t type, const std::vector<hsize_t>& extents,
            hid_t creation, const std::vector<std::int64_t>* values) {
    const Handle space =
        extents.empty()
            ? Handle(H5Screate(H5S_SCALAR), H5Sclose)
            : Handle(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                     H5Sclose);
    if (!space.valid()) return;
    remove(object);
    const Handle dataset(H5Dcreate2(file_.id(), object.c_str(), type, space.id(), H5P_DEFAULT,
                                    creation, H5P_DEFAULT),
                         H5Dclose);
    const auto size = H5Sget_simple_extent_npoints(space.id());
    if (!dataset.valid() || values == nullptr || size != static_cast<hssize_t>(values->size()))
      return;
    if (H5Tget_class(type) == H5T_STRING) return write_texts(dataset.id(), type, values->size());
    if (size > 0) {
      H5Dwrite(dataset.id(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values->data());
    }
  }

  static void write_texts(hid_t dataset, hid_t type, std::size_t count) {
    if (H5Tis_variable_str(type) > 0) {
      const std::vector<const char*> texts(count, "text");
      H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data());
    } else {
      const std::vector<char> texts(count * H5Tget_size(type), 'x');
      H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data());
    }
  }

  /// Any type a file may have.
  static Handle type_of(std::uint32_t index) {
    const std::array<hid_t, 14> plain = {
        H5T_STD_U8LE,   H5T_STD_I8LE,   H5T_STD_U16LE,  H5T_STD_I16LE, H5T_STD_U16BE,
        H5T_STD_U32LE,  H5T_STD_I32LE,  H5T_STD_U32BE,  H5T_STD_I64LE, H5T_STD_U64LE,
        H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_STD_B16LE};
    const std::uint32_t chosen = index % (plain.size() + 8);
    if (chosen < plain.size()) return {H5Tcopy(plain[chosen]), H5Tclose};
    const std::uint32_t more = index >> 8;
    switch (chosen - plain.size()) {
      case 0:
        return lexikos::detail::string_type();
      case 1: {
        Handle text(H5Tcopy(H5T_C_S1), H5Tclose);
        H5Tset_size(text.id(), 1 + more % 40);
        H5Tset_strpad(text.id(), static_cast<H5T_str_t>(more % 3));
        return text;
      }
      case 2: {
        Handle pair(H5Tcreate(H5T_COMPOUND, 8), H5Tclose);
        H5Tinsert(pair.id(), "r", 0, H5T_IEEE_F32LE);
        H5Tinsert(pair.id(), "i", 4, H5T_IEEE_F32LE);
        return pair;
      }
      case 3: {
        Handle truth(H5Tenum_create(H5T_STD_I8LE), H5Tclose);
        const std::int8_t no = 0, yes = 1;
        H5Tenum_insert(truth.id(), "FALSE", &no);
        H5Tenum_insert(truth.id(), "TRUE", &yes);
        return truth;
      }
      case 4:
        return {H5Tvlen_create(H5T_STD_I32LE), H5Tclose};
      case 5:
        return {H5Tcreate(H5T_OPAQUE, 1 + more % 64), H5Tclose};
      case 6: {
        const hsize_t extent = 1 + more % 8;
        return {H5Tarray_create2(H5T_IEEE_F32LE, 1, &extent), H5Tclose};
      }
      default: {  // integers with bits that do not count
        Handle narrow(H5Tcopy(H5T_STD_U32LE), H5Tclose);
        H5Tset_precision(narrow.id(), 1 + more % 32);
        H5Tset_offset(narrow.id(), more / 32 % 8);
        return narrow;
      }
    }
  }

  void retype(const std::string& object, const Edit& edit) {
    Kept kept;
    if (!look(object, kept)) return;
    const Handle type = type_of(edit.b);
    make(object, type.id(), kept.extents, H5P_DEFAULT, &kept.values);
    tell("retyped " + object + " as number " + std::to_string(edit.b % 22));
  }

  void reshape(const std::string& object, const Edit& edit) {
    Kept kept;
    if (!look(object, kept)) return;
    std::vector<hsize_t> extents(edit.a % 5);
    std::uint32_t numbers = edit.b;
    std::string shape;
    for (hsize_t& extent : extents) {
      extent = static_cast<hsize_t>(edge(numbers));
      numbers /= 20;
      shape += " " + std::to_string(extent);
    }
    if (edit.a & 0x100) extents = {kept.values.size() + edit.b % 3 - 1};
    const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    if (edit.a & 0x200) {
      const std::vector<hsize_t> chunk(extents.size(), 4);
      H5Pset_chunk(creation.id(), static_cast<int>(chunk.size()), chunk.data());
    } else {
      H5Pset_alloc_time(creation.id(), H5D_ALLOC_TIME_LATE);
    }
    make(object, kept.type.id(), extents, creation.id(), &kept.values);
    tell("reshaped " + object + ":" + shape);
  }

  void lay_out(const std::string& object, const Edit& edit) {
    Kept kept;
    if (!look(object, kept)) return;
    const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const std::vector<hsize_t> chunk(kept.extents.size(), 1 + edit.b % 16);
    const hsize_t bytes = kept.values.size() * H5Tget_size(kept.type.id());
    const unsigned choice = edit.a % 8;
    if (choice >= 2 && choice <= 4) {
      H5Pset_chunk(creation.id(), static_cast<int>(chunk.size()), chunk.data());
    }
    if (choice == 1) H5Pset_layout(creation.id(), H5D_COMPACT);
    if (choice == 3) {
      H5Pset_shuffle(creation.id());
      H5Pset_deflate(creation.id(), 4);
    }
    if (choice == 4) H5Pset_fletcher32(creation.id());
    if (choice == 5 || choice == 6) {
      const std::string raw = choice == 5
                                  ? write_input("external.raw", std::string(bytes % 65536, '\1'))
                                  : folder() + "/not_there.raw";
      H5Pset_external(creation.id(), raw.c_str(), 0, bytes == 0 ? 1 : bytes);
    }
    if (choice == 7) make_virtual(kept, edit, creation.id());
    // What is external or virtual keeps the bytes that are there.
    make(object, kept.type.id(), kept.extents, creation.id(), choice >= 5 ? nullptr : &kept.values);
    tell("layout " + std::to_string(choice) + " of " + object);
  }

  void make_virtual(const Kept& kept, const Edit& edit, hid_t creation) const {
    const std::string& source = base_.objects[edit.b % base_.objects.size()];
    const Handle space(
        H5Screate_simple(static_cast<int>(kept.extents.size()), kept.extents.data(), nullptr),
        H5Sclose);
    const std::string file = edit.a & 0x100 ? "not_there.h5" : ".";
    H5Pset_virtual(creation, space.id(), file.c_str(), source.c_str(), space.id());
  }

  void unwrite(const std::string& object, const Edit& edit) {
    Kept kept;
    if (!look(object, kept)) return;
    const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const std::vector<hsize_t> chunk(kept.extents.size(), 4);
    if (edit.a & 1) H5Pset_chunk(creation.id(), static_cast<int>(chunk.size()), chunk.data());
    if (edit.a & 2) H5Pset_fill_time(creation.id(), H5D_FILL_TIME_NEVER);
    if (edit.a & 4) H5Pset_alloc_time(creation.id(), H5D_ALLOC_TIME_EARLY);
    const std::int64_t fill = edge(edit.b);
    if (edit.a & 8) H5Pset_fill_value(creation.id(), H5T_NATIVE_INT64, &fill);
    make(object, kept.type.id(), kept.extents, creation.id(), nullptr);
    tell("never wrote " + object);
  }

  void relink(const std::string& object, const Edit& edit) {
    if (object == "/") return;
    const std::string& other = base_.objects[edit.b % base_.objects.size()];
    const char* const name = object.c_str();
    if (edit.a % 8 == 4 && other != object) {  // before the old name goes
      const std::string moved = object + "_";
      H5Lcreate_hard(file_.id(), other.c_str(), file_.id(), moved.c_str(), H5P_DEFAULT,
                     H5P_DEFAULT);
    }
    remove(object);
    switch (edit.a % 8) {
      case 0:
        H5Lcreate_soft(other.c_str(), file_.id(), name, H5P_DEFAULT, H5P_DEFAULT);
        break;
      case 1:
        H5Lcreate_soft("/not/there", file_.id(), name, H5P_DEFAULT, H5P_DEFAULT);
        break;
      case 2:
        H5Lcreate_external("base.h5", other.c_str(), file_.id(), name, H5P_DEFAULT, H5P_DEFAULT);
        break;
      case 3:
        H5Lcreate_external("not_there.h5", "/a", file_.id(), name, H5P_DEFAULT, H5P_DEFAULT);
        break;
      case 4:
        H5Lcreate_hard(file_.id(), other.c_str(), file_.id(), name, H5P_DEFAULT, H5P_DEFAULT);
        break;
      case 5:
        Handle(H5Gcreate2(file_.id(), name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
        break;
      case 6: {
        const Handle type = type_of(edit.b);
        H5Tcommit2(file_.id(), name, type.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        break;
      }
      default:
        make(object, H5T_STD_I32LE, {4}, H5P_DEFAULT, nullptr);
    }
    tell("linked " + object + " in way " + std::to_string(edit.a % 8) + ", " + other);
  }

  void set_attribute(const std::string& object, const Edit& edit) {
    if (base_.attributes.empty()) return;
    const std::string& name = base_.attributes[(edit.a >> 4) % base_.attributes.size()];
    const Handle owner(H5Oopen(file_.id(), object.c_str(), H5P_DEFAULT), H5Oclose);
    if (!owner.valid()) return;
    H5Adelete(owner.id(), name.c_str());
    write_attribute(owner.id(), name, edit);
    tell("attribute " + name + " of " + object + " in way " + std::to_string(edit.a % 10) + ", " +
         std::to_string(edit.b));
  }

  void write_attribute(hid_t owner, const std::string& name, const Edit& edit) {
    const auto write = [&](hid_t type, hid_t space, const void* value) {
      const Handle attribute(H5Acreate2(owner, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose);
      if (attribute.valid() && value != nullptr) H5Awrite(attribute.id(), type, value);
    };
    const std::int64_t number = edge(edit.b);
    const hsize_t extents[2] = {edit.b % 3, 2};
    const Handle list(H5Screate_simple(1 + edit.b % 2, extents, nullptr), H5Sclose);
    const Handle nothing(H5Screate(H5S_NULL), H5Sclose);
    const std::array<double, 5> reals = {0.5, -1e300, std::numeric_limits<double>::infinity(),
                                         std::numeric_limits<double>::quiet_NaN(), 1.0};
    const std::array<const char*, 9> texts = {"",
                                              "\xff\xfe",
                                              "a\nb",
                                              "[embedding]\ninterface = \"tied\"\n",
                                              "lexikos-tokens",
                                              "lexikos-checkpoint",
                                              "lexikos-embedding",
                                              "float64",
                                              "a = ["};
    const char* const text = texts[edit.b % texts.size()];
    const std::array<std::int64_t, 6> numbers = {number, 1, 2, 3, 4, 5};
    const Handle variable = lexikos::detail::string_type();
    switch (edit.a % 10) {
      case 0:
        return;  // it stays away
      case 1:
        return write(H5T_NATIVE_INT64, scalar_.id(), &number);
      case 2:
        return write(H5T_NATIVE_DOUBLE, scalar_.id(), &reals[edit.b % reals.size()]);
      case 3:
        return write(variable.id(), scalar_.id(), &text);
      case 4:
        return write(H5T_NATIVE_INT64, list.id(), numbers.data());
      case 5:
        return write(H5T_NATIVE_INT64, nothing.id(), nullptr);
      case 6:
        return write(variable.id(), nothing.id(), nullptr);
      case 7:
        return write(variable.id(), scalar_.id(), nullptr);  // never written
      case 8: {
        const Handle type = type_of(edit.b);
        return write(type.id(), scalar_.id(), nullptr);
      }
      default: {
        const Handle fixed(H5Tcopy(H5T_C_S1), H5Tclose);
        H5Tset_size(fixed.id(), 8);
        H5Tset_strpad(fixed.id(), static_cast<H5T_str_t>(edit.b % 3));
        return write(fixed.id(), scalar_.id(), "abcdefgh");
      }
    }
  }

  /// One value of a dataset becomes an edge, or the one before it.
  void set_value(const std::string& object, const Edit& edit) {
    Kept kept;
    if (!look(object, kept) || kept.values.empty()) return;
    const Handle dataset(H5Dopen2(file_.id(), object.c_str(), H5P_DEFAULT), H5Dclose);
    std::vector<double> reals(kept.values.size());
    std::int64_t& value = kept.values[edit.a % kept.values.size()];
    value = edit.b & 0x10000 ? value + static_cast<std::int64_t>(edit.b % 3) - 1 : edge(edit.b);
    if (H5Tget_class(kept.type.id()) == H5T_INTEGER) {
      H5Dwrite(dataset.id(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, kept.values.data());
    } else {
      H5Dread(dataset.id(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, reals.data());
      reals[edit.a % reals.size()] =
          edit.b & 0x20000 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(value);
      H5Dwrite(dataset.id(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, reals.data());
    }
    tell("value " + std::to_string(edit.a % kept.values.size()) + " of " + object + ": " +
         std::to_string(value));
  }

  /// A member that nobody expects.
  void add_extra(const std::string& object, const Edit& edit) {
    const std::array<const char*, 5> names = {"extra", "a b", "\xff", "extra\n", "new.weight"};
    const std::string group = object.substr(0, object.rfind('/') + 1);
    make(group + names[edit.a % names.size()], H5T_IEEE_F32LE, {edit.b % 5, 2}, H5P_DEFAULT,
         nullptr);
    tell("an extra member beside " + object);
  }

  const Base& base_;
  Handle file_, scalar_;
  std::string told_;
};

}  // namespace

std::string edit_objects(const std::string& path, const Base& base,
                         const std::vector<Edit>& edits) {
  lexikos::detail::start_hdf5();
  Editor editor(path, base);
  require(editor.valid(), "the file that edits begin with opens");
  for (const Edit& edit : edits) editor.apply(edit);
  H5Eclear2(H5E_DEFAULT);
  return editor.told();
}

}  // namespace lexikos::fuzz
