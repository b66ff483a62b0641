// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxrawdata.h"

#include "core/base/failure.h"
#include "core/formats/onnxschema.pb.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace retro::formats
{

using base::Result;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using onnxschema::GraphProto;
using onnxschema::ModelProto;
using onnxschema::TensorProto;

namespace
{

/// Pieces of a file; what is skipped is not read.
class FilePieces final : public google::protobuf::io::ZeroCopyInputStream
{
public:
    explicit FilePieces(const base::FileReader& file) : m_file(file), m_piece(kPiece) {}

    bool Next(const void** data, int* size) override
    {
        const std::uint64_t count = std::min<std::uint64_t>(m_piece.size(), m_file.size() - m_at);
        if (count == 0 || !m_file.read(m_at, std::span(m_piece).first(count)).ok()) {
            return false;
        }
        m_at += count;
        *data = m_piece.data();
        *size = static_cast<int>(count);
        return true;
    }
    void BackUp(int count) override { m_at -= static_cast<std::uint64_t>(count); }
    bool Skip(int count) override
    {
        const auto wanted = static_cast<std::uint64_t>(count);
        const bool isThere = wanted <= m_file.size() - m_at;
        m_at = isThere ? m_at + wanted : m_file.size();
        return isThere;
    }
    [[nodiscard]] std::int64_t ByteCount() const override { return static_cast<std::int64_t>(m_at); }

private:
    static constexpr std::size_t kPiece = std::size_t{64} << 10;

    const base::FileReader& m_file;
    std::vector<std::byte> m_piece;
    std::uint64_t m_at = 0;
};

constexpr std::uint32_t lengthTag(int field)
{
    return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

/// Copies a message without the large raw data of its initializers. False from any function: the message has not the
/// expected form.
class Copier
{
public:
    Copier(const base::FileReader& file, std::vector<std::byte>& message,
           std::map<std::string, OnnxRawData::Place>& places)
        : m_size(file.size()), m_pieces(file), m_in(&m_pieces), m_out(message), m_places(places)
    {}

    bool copyModel()
    {
        bool hasGraph = false;
        while (static_cast<std::uint64_t>(m_in.CurrentPosition()) < m_size) {
            const std::uint32_t tag = m_in.ReadTag();
            const bool isGraph = tag == lengthTag(ModelProto::kGraphFieldNumber);
            if (isGraph && hasGraph) {
                return false; // two that are to be merged
            }
            hasGraph = hasGraph || isGraph;
            if (!(isGraph ? copyInside(tag, &Copier::copyGraph) : copyField(tag))) {
                return false;
            }
        }
        return hasGraph;
    }

private:
    static constexpr std::size_t kLengthBytes = 5;

    void putNumber(std::uint64_t number)
    {
        std::array<std::uint8_t, 10> bytes{};
        const std::uint8_t* end = CodedOutputStream::WriteVarint64ToArray(number, bytes.data());
        put(bytes.data(), static_cast<std::size_t>(end - bytes.data()));
    }

    void put(const void* data, std::size_t count)
    {
        const auto* bytes = static_cast<const std::byte*>(data);
        m_out.insert(m_out.end(), bytes, bytes + count);
    }

    /// A message of the field `tag`, whose length changes: it gets room for any length.
    bool copyInside(std::uint32_t tag, bool (Copier::*copy)())
    {
        int length = 0;
        if (!m_in.ReadVarintSizeAsInt(&length)) {
            return false;
        }
        putNumber(tag);
        const std::size_t at = m_out.size();
        m_out.resize(at + kLengthBytes);
        const CodedInputStream::Limit limit = m_in.PushLimit(length);
        if (m_in.BytesUntilLimit() != length) {
            return false; // longer than what is around it
        }
        while (m_in.BytesUntilLimit() > 0) {
            if (!(this->*copy)()) {
                return false;
            }
        }
        m_in.PopLimit(limit);
        std::uint64_t rest = m_out.size() - at - kLengthBytes;
        for (std::size_t i = 0; i < kLengthBytes; ++i, rest >>= 7U) {
            m_out[at + i] = static_cast<std::byte>((rest & 0x7fU) | (i + 1 < kLengthBytes ? 0x80U : 0U));
        }
        return true;
    }

    bool copyGraph()
    {
        const std::uint32_t tag = m_in.ReadTag();
        if (tag != lengthTag(GraphProto::kInitializerFieldNumber)) {
            return copyField(tag);
        }
        m_name.clear();
        m_left.reset();
        m_hasData = false;
        if (!copyInside(tag, &Copier::copyTensor)) {
            return false;
        }
        return !m_left || (!m_name.empty() && m_places.emplace(m_name, *m_left).second);
    }

    bool copyTensor()
    {
        const std::uint32_t tag = m_in.ReadTag();
        if (tag == lengthTag(TensorProto::kNameFieldNumber)) {
            m_name.clear();
            return copyBytes(tag, &m_name);
        }
        if (tag != lengthTag(TensorProto::kRawDataFieldNumber)) {
            return copyField(tag);
        }
        int length = 0;
        if (m_hasData || !m_in.ReadVarintSizeAsInt(&length)) {
            return false; // of two the last one counts
        }
        m_hasData = true;
        const auto bytes = static_cast<std::uint64_t>(length);
        if (bytes < OnnxRawData::kLeastLeft) {
            return copyBytes(tag, length, nullptr);
        }
        m_left = OnnxRawData::Place{static_cast<std::uint64_t>(m_in.CurrentPosition()), bytes};
        return m_in.Skip(length);
    }

    bool copyField(std::uint32_t tag)
    {
        std::uint64_t number = 0;
        switch (WireFormatLite::GetTagWireType(tag)) {
        case WireFormatLite::WIRETYPE_VARINT:
            if (tag == 0 || !m_in.ReadVarint64(&number)) {
                return false;
            }
            putNumber(tag);
            putNumber(number);
            return true;
        case WireFormatLite::WIRETYPE_FIXED64:
            return copyFixed<std::uint64_t>(tag);
        case WireFormatLite::WIRETYPE_FIXED32:
            return copyFixed<std::uint32_t>(tag);
        case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
            return copyBytes(tag, nullptr);
        default:
            return false; // a group, which no field of ONNX is
        }
    }

    template <class Number>
    bool copyFixed(std::uint32_t tag)
    {
        std::array<char, sizeof(Number)> bytes{};
        if (!m_in.ReadRaw(bytes.data(), static_cast<int>(bytes.size()))) {
            return false;
        }
        putNumber(tag);
        put(bytes.data(), bytes.size());
        return true;
    }

    bool copyBytes(std::uint32_t tag, std::string* text)
    {
        int length = 0;
        return m_in.ReadVarintSizeAsInt(&length) && copyBytes(tag, length, text);
    }

    bool copyBytes(std::uint32_t tag, int length, std::string* text)
    {
        const std::uint64_t rest = m_size - static_cast<std::uint64_t>(m_in.CurrentPosition());
        if (static_cast<std::uint64_t>(length) > rest) {
            return false; // before so much memory is taken
        }
        putNumber(tag);
        putNumber(static_cast<std::uint64_t>(length));
        const std::size_t at = m_out.size();
        m_out.resize(at + static_cast<std::size_t>(length));
        if (!m_in.ReadRaw(m_out.data() + at, length)) {
            return false;
        }
        if (text != nullptr) {
            text->assign(reinterpret_cast<const char*>(m_out.data() + at), static_cast<std::size_t>(length));
        }
        return true;
    }

    std::uint64_t m_size;
    FilePieces m_pieces;
    CodedInputStream m_in;
    std::vector<std::byte>& m_out;
    std::map<std::string, OnnxRawData::Place>& m_places;
    std::string m_name;                       ///< of the tensor
    bool m_hasData = false;                   ///< the tensor
    std::optional<OnnxRawData::Place> m_left; ///< of the tensor
};

} // namespace

Result<OnnxRawData> OnnxRawData::open(const std::filesystem::path& path, std::uint64_t limit)
{
    RETRO_TRY(base::FileReader file, base::FileReader::open(path, limit));
    OnnxRawData data(std::move(file));
    const std::uint64_t size = data.m_file.size();
    const bool isCopied = size >= kLeastFile && size <= static_cast<std::uint64_t>(std::numeric_limits<int>::max()) &&
                          Copier(data.m_file, data.m_message, data.m_places).copyModel();
    if (!isCopied || !data.leavesAny()) {
        RETRO_CHECK(data.readWhole());
    }
    return data;
}

const OnnxRawData::Place* OnnxRawData::find(const std::string& initializer) const
{
    const auto at = m_places.find(initializer);
    return at == m_places.end() ? nullptr : &at->second;
}

Result<void> OnnxRawData::read(const Place& place, std::span<std::byte> target) const
{
    base::guard(target.size() == place.bytes, "elements are read into as many bytes as they have");
    return m_file.read(place.offset, target);
}

Result<void> OnnxRawData::readWhole()
{
    m_places.clear();
    m_message = {}; // before memory for the whole is taken
    m_message.resize(m_file.size());
    return m_file.read(0, m_message);
}

} // namespace retro::formats
