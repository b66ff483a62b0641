// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/text/postprocessor.h"
#include "core/text/tokenmodel.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::text
{

struct TextPart;

/// The largest file and the longest text that are read.
inline constexpr std::uint64_t kMostTokenizerBytes = 64ULL << 20;
inline constexpr std::size_t kMostTextBytes = 16U << 20;

/// Makes tokens of texts and texts of tokens, as a file tokenizer.json says. Its ids and places equal those of the
/// library `tokenizers`; what it does not know, it refuses by name. Truncation and padding of the file are not applied:
/// the text is taken whole. Calls from several threads at once are fine.
class Tokeniser
{
public:
    /// Errors (Input): the file (missing, larger than 64 MiB, nested deeper than 32), a part that is not supported, by
    /// its name; one of more than 500 steps; fields that are wrong, with their line.
    [[nodiscard]] static base::Result<Tokeniser> read(const std::filesystem::path& path);
    /// The same of the contents of a file; `where` is its name.
    [[nodiscard]] static base::Result<Tokeniser> parse(std::string contents, const std::string& where);

    Tokeniser(Tokeniser&&) noexcept;
    Tokeniser& operator=(Tokeniser&&) noexcept;
    Tokeniser(const Tokeniser&) = delete;
    Tokeniser& operator=(const Tokeniser&) = delete;
    ~Tokeniser();

    /// The tokens of a text; `withSpecials`: with those that the tokeniser puts before and behind. Errors (Input):
    /// bytes that are no UTF-8, with their offset; a text of more than 16 MiB, or of which the file's steps make more
    /// than kMostChangedBytes; one without a token where there is none for unknown ones.
    [[nodiscard]] base::Result<std::vector<Token>> encode(std::string_view text, bool withSpecials = true) const;
    /// The text that tokens stand for; numbers without a token are left out. Errors (Input): the file's decoder is not
    /// supported (by its name).
    [[nodiscard]] base::Result<std::string> decode(std::span<const TokenId> ids, bool skipsSpecials) const;

    /// A token as the vocabulary writes it ("Ġthe", "▁the"); null for a number without a token.
    [[nodiscard]] const std::string* writtenOf(TokenId id) const;
    /// The bytes that a token stands for inside a text; they may be part of a character. A special token is written
    /// as it is. Empty for a number without a token.
    [[nodiscard]] std::string bytesOf(TokenId id) const;
    /// The token that stands for exactly these bytes inside a text.
    [[nodiscard]] std::optional<TokenId> findBytes(std::string_view bytes) const;
    /// The number of a token, as the vocabulary writes it.
    [[nodiscard]] std::optional<TokenId> find(std::string_view written) const;
    /// The token that fills a text up to a length: that of the file's padding, else [PAD], <pad> or <|pad|>.
    [[nodiscard]] std::optional<TokenId> padding() const;
    /// Whether it is one of those that stand for no text, such as <|end_of_text|>.
    [[nodiscard]] bool isSpecial(TokenId id) const;
    /// Largest number of a token, and one.
    [[nodiscard]] std::size_t size() const;

private:
    struct Parts;
    class PieceMemory;
    explicit Tokeniser(std::unique_ptr<const Parts> parts);
    [[nodiscard]] static base::Result<Tokeniser> ofText(const base::JsonText& text);
    [[nodiscard]] base::Result<std::vector<Token>> tokensOf(std::string_view text, bool withSpecials) const;
    [[nodiscard]] base::Result<void> addTokens(TextPart& part, PieceMemory& memory, std::vector<Token>& tokens) const;
    [[nodiscard]] Token tokenOf(const AlignedText& piece, const PieceToken& found) const;

    std::unique_ptr<const Parts> m_parts;
};

} // namespace retro::text
