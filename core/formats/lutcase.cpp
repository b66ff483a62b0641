// SPDX-License-Identifier: Apache-2.0
#include "core/formats/lutcase.h"

#include "core/base/file.h"
#include "core/base/jsonfields.h"
#include "core/base/jsonout.h"
#include "core/tensor/tensor.h"

#include <fmt/format.h>

#include <array>

namespace retro::formats
{

namespace
{

using base::JsonFields;
using base::JsonText;
using base::Result;
using nlohmann::json;

constexpr std::size_t kMaxBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxDepth = 8;
constexpr std::uint64_t kMaxWhole = 0xFFFFFFFF;

struct Mode
{
    std::string_view name;
    bool isSparse;
    bool isSequence;
};

constexpr std::array kModes{Mode{"fc_nonseq", false, false}, Mode{"fc_seq", false, true},
                            Mode{"sparse_nonseq", true, false}, Mode{"sparse_seq", true, true}};

struct RowName
{
    std::string_view name;
    lut::RowType type;
};

constexpr std::array kRowNames{RowName{"float32", lut::RowType::Real}, RowName{"float16", lut::RowType::Float16},
                               RowName{"bfloat16", lut::RowType::BFloat16}};

/// Reads the fields of a case.
class CaseReader
{
public:
    explicit CaseReader(JsonFields fields) : m_fields(std::move(fields)), m_text(m_fields.source()) {}

    Result<LutCase> read()
    {
        m_case.where = m_text.where();
        RETRO_CHECK(readMode());
        RETRO_CHECK(readRowType());
        RETRO_CHECK(readSizes());
        RETRO_CHECK(readArrays());
        RETRO_CHECK(readExpected());
        return std::move(m_case);
    }

private:
    Result<void> readMode()
    {
        const json* mode = m_fields.find("mode");
        for (const Mode& known : kModes) {
            if (mode != nullptr && *mode == known.name) {
                m_case.isSparse = known.isSparse;
                m_case.shape.isSequence = known.isSequence;
                RETRO_TRY(m_case.name, m_fields.text("name", m_text.where()));
                return {};
            }
        }
        return m_text.error("mode", "mode must be one of: fc_nonseq, fc_seq, sparse_nonseq, sparse_seq");
    }

    Result<void> readRowType()
    {
        const json* rows = m_fields.find("rows");
        if (rows == nullptr) {
            return {};
        }
        for (const RowName& known : kRowNames) {
            if (*rows == known.name) {
                m_case.rowType = known.type;
                return {};
            }
        }
        return m_text.error("rows", "rows must be one of: float32, float16, bfloat16");
    }

    /// A whole number of 32 bits.
    Result<std::uint32_t> whole(const json& value, const std::string& field) const
    {
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMaxWhole) {
            const std::string given = value.is_number() ? ", not " + base::jsonOut(value) : "";
            return m_text.error(field, field + " must be a whole number from 0 to 4294967295" + given);
        }
        return static_cast<std::uint32_t>(value.get<std::uint64_t>());
    }

    Result<void> size(const char* name, std::uint32_t& target) const
    {
        const json* value = m_fields.find(name);
        if (value == nullptr) {
            return m_text.error("", fmt::format("the size {} is missing", name));
        }
        RETRO_TRY(target, whole(*value, name));
        return {};
    }

    Result<void> readSizes()
    {
        lut::LayerShape& shape = m_case.shape;
        std::uint32_t batch = 0;
        RETRO_CHECK(size("B", batch));
        RETRO_CHECK(size("S", shape.length));
        RETRO_CHECK(size("I", shape.inputs));
        RETRO_CHECK(size("O", shape.outputs));
        RETRO_CHECK(size("T", shape.tables));
        RETRO_CHECK(size("C", shape.comparisons));
        RETRO_CHECK(size("P", shape.codeBits));
        m_case.batch = batch;
        return {};
    }

    /// Numbers of nested lists, one after another. Depth is bounded by the parser.
    Result<void> flatten(const json& value, const std::string& field, std::vector<double>& target) const
    {
        if (value.is_number()) {
            target.push_back(value.get<double>());
            return {};
        }
        if (!value.is_array()) {
            return m_text.error(field, field + " must be a list of numbers");
        }
        for (const json& entry : value) {
            RETRO_CHECK(flatten(entry, field, target));
        }
        return {};
    }

    Result<void> numbers(const char* name, bool isNeeded, std::vector<double>& target) const
    {
        const json* value = m_fields.find(name);
        if (value != nullptr) {
            return flatten(*value, name, target);
        }
        return isNeeded ? Result<void>(m_text.error("", fmt::format("the list {} is missing", name))) : Result<void>();
    }

    template <class N>
    Result<void> wholes(const char* name, std::vector<N>& target) const
    {
        const json* value = m_fields.find(name);
        if (value == nullptr || !value->is_array()) {
            return m_text.error(value == nullptr ? "" : name, fmt::format("a list {} is needed", name));
        }
        for (const json& entry : *value) {
            RETRO_TRY(const std::uint32_t number, whole(entry, name));
            target.push_back(number);
        }
        return {};
    }

    Result<void> readAnchors()
    {
        std::vector<double> flat;
        RETRO_CHECK(numbers("anchors", true, flat));
        if (flat.size() % 2 != 0) {
            return m_text.error("anchors", "anchors must be pairs of input numbers");
        }
        for (std::size_t i = 0; i < flat.size(); i += 2) {
            RETRO_TRY(const std::uint32_t a, anchor(flat[i]));
            RETRO_TRY(const std::uint32_t b, anchor(flat[i + 1]));
            m_case.anchors.push_back({a, b});
        }
        return {};
    }

    Result<std::uint32_t> anchor(double value) const
    {
        const bool isWhole = value >= 0 && value <= static_cast<double>(kMaxWhole) &&
                             static_cast<double>(static_cast<std::uint64_t>(value)) == value;
        return isWhole
                   ? Result<std::uint32_t>(static_cast<std::uint32_t>(value))
                   : Result<std::uint32_t>(m_text.error("anchors", fmt::format("{} is no number of an input", value)));
    }

    Result<void> readArrays()
    {
        RETRO_CHECK(readAnchors());
        RETRO_CHECK(numbers("x", true, m_case.input));
        RETRO_CHECK(numbers("pe", false, m_case.codes));
        RETRO_CHECK(numbers("weights", true, m_case.weights));
        RETRO_CHECK(numbers("grad_output", false, m_case.outputGradients));
        if (m_case.isSparse) {
            RETRO_CHECK(wholes("row_ptr", m_case.rowStarts));
            RETRO_CHECK(wholes("col", m_case.columns));
        }
        if (const json* epsilon = m_fields.find("lrp_eps")) {
            if (!epsilon->is_number() || !(epsilon->get<double>() > 0)) {
                return m_text.error("lrp_eps", "lrp_eps must be a number above 0");
            }
            m_case.epsilon = epsilon->get<double>();
        }
        return {};
    }

    Result<void> readExpectedGroup(const char* group)
    {
        RETRO_TRY(const auto lists, m_fields.object(group));
        if (!lists) {
            return {};
        }
        for (const auto& [name, value] : lists->members().items()) {
            const std::string field = fmt::format("{}.{}", group, name);
            RETRO_CHECK(flatten(value, field, m_case.expected[field]));
        }
        return {};
    }

    Result<void> readExpected()
    {
        for (const char* group : {"forward", "backward", "lrp_of_grad_output_as_relevance"}) {
            RETRO_CHECK(readExpectedGroup(group));
        }
        for (const char* events : {"events_main", "events_alternative"}) {
            if (const json* value = m_fields.find(events)) {
                RETRO_CHECK(flatten(*value, events, m_case.expected[events]));
            }
        }
        return {};
    }

    JsonFields m_fields;
    const JsonText& m_text;
    LutCase m_case;
};

} // namespace

std::vector<std::uint16_t> narrowWeights(const LutCase& given)
{
    std::vector<std::uint16_t> bits;
    for (std::size_t i = 0; i < (given.rowType == lut::RowType::Real ? 0 : given.weights.size()); ++i) {
        const auto weight = static_cast<float>(given.weights[i]);
        bits.push_back(given.rowType == lut::RowType::Float16 ? tensor::floatToHalf(weight)
                                                              : tensor::floatToBfloat(weight));
    }
    return bits;
}

Result<LutCase> parseLutCase(std::string text, const std::string& where)
{
    RETRO_TRY(const JsonText parsed, JsonText::parse(std::move(text), where, {kMaxBytes, kMaxDepth}));
    if (!parsed.root().is_object()) {
        return parsed.error("", "this is no LUT case: an object with mode, sizes, anchors, x and weights is needed");
    }
    RETRO_TRY(JsonFields fields, JsonFields::of(parsed, parsed.root(), ""));
    return CaseReader(std::move(fields)).read();
}

Result<LutCase> readLutCase(const std::filesystem::path& path)
{
    RETRO_TRY(std::string text, base::readTextFile(path, kMaxBytes));
    return parseLutCase(std::move(text), path.string());
}

} // namespace retro::formats
