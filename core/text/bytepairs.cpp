// SPDX-License-Identifier: Apache-2.0
#include "core/text/tokenmodel.h"

#include "core/text/utf8.h"

#include <fmt/format.h>

#include <queue>

namespace retro::text
{

namespace
{

using base::JsonFields;
using base::Result;

struct Merge
{
    std::uint32_t rank = 0;
    TokenId id = 0;
};

std::uint64_t pairOf(TokenId left, TokenId right) { return static_cast<std::uint64_t>(left) << 32U | right; }

struct PairHash
{
    [[nodiscard]] std::size_t operator()(std::uint64_t pair) const
    {
        constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
        const std::uint64_t mixed = (pair ^ pair >> 32U) * kOdd;
        return static_cast<std::size_t>(mixed ^ mixed >> 29U);
    }
};

using Merges = std::unordered_map<std::uint64_t, Merge, PairHash>;

/// A token of a piece while its neighbours merge.
struct Symbol
{
    TokenId id = 0;
    std::uint32_t bytes = 0; ///< 0: it has become part of the one before
    std::int64_t before = -1;
    std::int64_t behind = -1;
};

/// The symbols of a piece as they are found. Unknown text is put when known text follows it, so that it can be one
/// symbol.
class SymbolRow
{
public:
    explicit SymbolRow(std::size_t most) { m_symbols.reserve(most); }

    void put(TokenId id, std::uint32_t bytes)
    {
        Symbol symbol{id, bytes, static_cast<std::int64_t>(m_symbols.size()) - 1, -1};
        if (!m_symbols.empty()) {
            m_symbols.back().behind = symbol.before + 1;
        }
        m_symbols.push_back(symbol);
    }

    /// More unknown text.
    void addUnknown(TokenId id, std::uint32_t bytes)
    {
        m_unknownId = id;
        m_unknownBytes += bytes;
    }

    /// Puts the unknown text that has come together.
    void flush()
    {
        if (m_unknownBytes > 0) {
            put(m_unknownId, m_unknownBytes);
            m_unknownBytes = 0;
        }
    }

    [[nodiscard]] std::vector<Symbol> symbols() && { return std::move(m_symbols); }

private:
    std::vector<Symbol> m_symbols;
    TokenId m_unknownId = 0;
    std::uint32_t m_unknownBytes = 0;
};

struct Candidate
{
    std::uint32_t rank = 0;
    TokenId id = 0;
    std::int64_t at = 0;

    /// The lowest rank first, then the leftmost.
    bool operator<(const Candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
};

/// Merges neighbours by rank until no pair is left.
class Merger
{
public:
    Merger(std::vector<Symbol>& symbols, const Merges& merges) : m_symbols(symbols), m_merges(merges)
    {
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            offer(static_cast<std::int64_t>(i));
        }
    }

    void run()
    {
        while (!m_candidates.empty()) {
            const Candidate top = m_candidates.top();
            m_candidates.pop();
            Symbol& left = symbolAt(top.at);
            if (left.bytes == 0 || left.behind < 0) {
                continue;
            }
            Symbol& right = symbolAt(left.behind);
            const Merge* const merge = find(left.id, right.id);
            if (merge == nullptr || merge->id != top.id) {
                continue; // one of the two has changed since
            }
            left.id = top.id;
            left.bytes += right.bytes;
            left.behind = right.behind;
            right.bytes = 0;
            if (right.behind >= 0) {
                symbolAt(right.behind).before = top.at;
            }
            if (left.before >= 0) {
                offer(left.before);
            }
            offer(top.at);
        }
    }

private:
    Symbol& symbolAt(std::int64_t at) { return m_symbols[static_cast<std::size_t>(at)]; }

    const Merge* find(TokenId left, TokenId right) const
    {
        const auto at = m_merges.find(pairOf(left, right));
        return at == m_merges.end() ? nullptr : &at->second;
    }

    void offer(std::int64_t at)
    {
        const Symbol& left = symbolAt(at);
        if (left.behind < 0) {
            return;
        }
        if (const Merge* const merge = find(left.id, symbolAt(left.behind).id)) {
            m_candidates.push({merge->rank, merge->id, at});
        }
    }

    std::vector<Symbol>& m_symbols;
    const Merges& m_merges;
    std::priority_queue<Candidate> m_candidates;
};

class BytePairs final : public TokenModel
{
public:
    Result<void> tokenise(std::string_view piece, std::vector<PieceToken>& into) const override
    {
        const std::optional<TokenId> whole = m_ignoresMerges ? m_vocabulary.find(piece) : std::nullopt;
        if (whole) {
            into.push_back({*whole, 0, static_cast<std::uint32_t>(piece.size())});
            return {};
        }
        RETRO_TRY(std::vector<Symbol> symbols, symbolsOf(piece));
        Merger(symbols, m_merges).run();
        std::uint32_t at = 0;
        for (const Symbol& symbol : symbols) {
            if (symbol.bytes > 0) {
                into.push_back({symbol.id, at, at + symbol.bytes});
                at += symbol.bytes;
            }
        }
        return {};
    }

    Result<void> read(const JsonFields& fields)
    {
        RETRO_TRY(m_vocabulary, Vocabulary::read(fields));
        RETRO_TRY(m_prefix, fields.text("continuing_subword_prefix"));
        RETRO_TRY(m_suffix, fields.text("end_of_word_suffix"));
        RETRO_TRY(m_fusesUnknown, fields.flag("fuse_unk", false));
        RETRO_TRY(m_ignoresMerges, fields.flag("ignore_merges", false));
        RETRO_TRY(const bool fallsBack, fields.flag("byte_fallback", false));
        RETRO_TRY(const std::optional<double> dropout, fields.number("dropout"));
        if (dropout.value_or(0) > 0) {
            return fields.error("dropout", "tokens that are left out by chance (dropout) are not supported; set it to "
                                           "null");
        }
        if (fields.has("unk_token")) {
            RETRO_TRY(m_unknown, fields.text("unk_token"));
            m_hasUnknown = true;
        }
        m_bytes = fallsBack ? std::optional(ByteTokens(m_vocabulary)) : std::nullopt;
        return readMerges(fields);
    }

private:
    Result<void> readMerges(const JsonFields& fields)
    {
        RETRO_TRY(const nlohmann::json* const items, fields.list("merges"));
        const std::size_t count = items == nullptr ? 0 : items->size();
        m_merges.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            const auto both = partsOf((*items)[i]);
            if (!both) {
                return fields.error(fmt::format("merges[{}]", i), "a merge is [left, right], or both in one text with "
                                                                  "a space between");
            }
            const auto left = m_vocabulary.find(both->first);
            const auto right = m_vocabulary.find(both->second);
            const bool hasPrefix = both->second.size() >= m_prefix.size();
            const auto merged =
                hasPrefix ? m_vocabulary.find(both->first + both->second.substr(m_prefix.size())) : std::nullopt;
            if (!left || !right || !merged) {
                return fields.error(fmt::format("merges[{}]", i),
                                    fmt::format("'{}' and '{}', or what they become, are not in the vocabulary",
                                                both->first, both->second));
            }
            m_merges.insert_or_assign(pairOf(*left, *right), Merge{static_cast<std::uint32_t>(i), *merged});
        }
        return {};
    }

    static std::optional<std::pair<std::string, std::string>> partsOf(const nlohmann::json& item)
    {
        if (item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string()) {
            return std::pair(item[0].get<std::string>(), item[1].get<std::string>());
        }
        if (!item.is_string()) {
            return std::nullopt;
        }
        const auto& text = item.get_ref<const std::string&>();
        const std::size_t space = text.find(' ');
        if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
            return std::nullopt;
        }
        return std::pair(text.substr(0, space), text.substr(space + 1));
    }

    /// One symbol for each character, or for each of its bytes.
    Result<std::vector<Symbol>> symbolsOf(std::string_view piece) const
    {
        SymbolRow row(piece.size());
        std::string affixed;
        for (std::size_t at = 0; at < piece.size();) {
            const std::uint32_t bytes = characterAt(piece, at).bytes;
            const std::string_view one =
                asWritten(piece.substr(at, bytes), at == 0, at + bytes >= piece.size(), affixed);
            at += bytes;
            if (const auto id = m_vocabulary.find(one)) {
                row.flush();
                row.put(*id, bytes);
                continue;
            }
            RETRO_CHECK(putWithoutToken(one, bytes, row));
        }
        row.flush();
        return std::move(row).symbols();
    }

    /// A character as the vocabulary has it, with what marks its place in the piece; `affixed` holds it then.
    std::string_view asWritten(std::string_view one, bool isFirst, bool isLast, std::string& affixed) const
    {
        if ((isFirst || m_prefix.empty()) && (!isLast || m_suffix.empty())) {
            return one;
        }
        affixed = (isFirst ? "" : m_prefix) + std::string(one) + (isLast ? m_suffix : "");
        return affixed;
    }

    /// A character that is no token: its bytes, or unknown text, or nothing.
    Result<void> putWithoutToken(std::string_view one, std::uint32_t bytes, SymbolRow& row) const
    {
        if (const auto ids = m_bytes ? m_bytes->of(one) : std::nullopt) {
            for (const TokenId id : *ids) {
                row.put(id, 1);
            }
            return {};
        }
        if (!m_hasUnknown) {
            return {};
        }
        const auto id = m_vocabulary.find(m_unknown);
        if (!id) {
            return base::inputError(fmt::format("the token for unknown text, '{}', is not in the vocabulary of the "
                                                "tokenizer",
                                                m_unknown));
        }
        if (!m_fusesUnknown) {
            row.flush();
        }
        row.addUnknown(*id, bytes);
        return {};
    }

    Merges m_merges;
    std::string m_prefix; ///< of a character that is not the first of its piece
    std::string m_suffix; ///< of the last one
    std::string m_unknown;
    bool m_hasUnknown = false;
    bool m_fusesUnknown = false;
    bool m_ignoresMerges = false;
    std::optional<ByteTokens> m_bytes;
};

} // namespace

Result<std::unique_ptr<TokenModel>> readBytePairs(const JsonFields& fields)
{
    auto model = std::make_unique<BytePairs>();
    RETRO_CHECK(model->read(fields));
    return std::unique_ptr<TokenModel>(std::move(model));
}

} // namespace retro::text
