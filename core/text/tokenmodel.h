// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/jsonfields.h"
#include "core/base/result.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace retro::text
{

using TokenId = std::uint32_t;

/// A token in a piece of text: bytes `begin` up to `end` of the piece.
struct PieceToken
{
    TokenId id = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

/// Hashes texts and views of texts alike.
struct TextHash
{
    using is_transparent = void;
    [[nodiscard]] std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

/// The tokens of a model by their text, and their texts by number.
class Vocabulary
{
public:
    /// Errors (Input): the member "vocab" is no object of whole numbers, or a number is larger than any vocabulary.
    [[nodiscard]] static base::Result<Vocabulary> read(const base::JsonFields& model);

    /// A later token of the same text takes its place.
    void add(std::string text, TokenId id);
    [[nodiscard]] std::optional<TokenId> find(std::string_view text) const;
    /// Null for a number without a token.
    [[nodiscard]] const std::string* textOf(TokenId id) const;
    /// f(text, number) for each token, in no order.
    template <class F>
    void forEach(const F& f) const
    {
        for (const auto& [text, id] : m_ids) {
            f(std::string_view(text), id);
        }
    }
    /// Tokens in it.
    [[nodiscard]] std::size_t size() const { return m_ids.size(); }
    /// Largest number, and one.
    [[nodiscard]] std::size_t end() const { return m_texts.size(); }

private:
    std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>> m_ids;
    std::vector<const std::string*> m_texts; ///< keys of the map
};

/// Finds the tokens of one piece. Calls from several threads at once are fine.
class TokenModel
{
public:
    TokenModel() = default;
    TokenModel(const TokenModel&) = delete;
    TokenModel& operator=(const TokenModel&) = delete;
    virtual ~TokenModel() = default;

    /// Appends the tokens of `piece`. Errors (Input): a text without a token where the model has none for unknown ones.
    [[nodiscard]] virtual base::Result<void> tokenise(std::string_view piece, std::vector<PieceToken>& into) const = 0;
    /// Whether a token for unknown text is written as that text, not as the vocabulary has it.
    [[nodiscard]] virtual bool writesText() const { return false; }
    [[nodiscard]] const Vocabulary& vocabulary() const { return m_vocabulary; }

protected:
    Vocabulary m_vocabulary;
};

/// The model of a tokenizer.json: BPE, Unigram, WordPiece, WordLevel. Errors (Input): another one, by its name;
/// dropout; merges of tokens that are not in the vocabulary; fields that are wrong.
[[nodiscard]] base::Result<std::unique_ptr<TokenModel>> readTokenModel(const base::JsonFields& fields);

/// "BPE": pairs of pieces are merged by rank. Errors as of readTokenModel().
[[nodiscard]] base::Result<std::unique_ptr<TokenModel>> readBytePairs(const base::JsonFields& fields);
/// "Unigram": the pieces of the largest sum of scores. Errors as of readTokenModel().
[[nodiscard]] base::Result<std::unique_ptr<TokenModel>> readUnigram(const base::JsonFields& fields);
/// "WordPiece": the longest piece first. Errors as of readTokenModel().
[[nodiscard]] base::Result<std::unique_ptr<TokenModel>> readWordPiece(const base::JsonFields& fields);
/// "WordLevel": whole words. Errors as of readTokenModel().
[[nodiscard]] base::Result<std::unique_ptr<TokenModel>> readWordLevel(const base::JsonFields& fields);

/// The tokens <0x00> to <0xFF>, by byte.
class ByteTokens
{
public:
    ByteTokens() = default;
    explicit ByteTokens(const Vocabulary& vocabulary);
    /// The tokens of all the bytes; none when one of them has no token.
    [[nodiscard]] std::optional<std::vector<TokenId>> of(std::string_view bytes) const;

private:
    std::vector<std::optional<TokenId>> m_ids;
};

} // namespace retro::text
