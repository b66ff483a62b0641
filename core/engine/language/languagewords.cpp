// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/languagewords.h"

#include "core/base/visibletext.h"
#include "core/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <mutex>

namespace retro::engine
{

using base::Result;
using base::usageError;
using text::TokenId;

namespace
{

std::optional<std::int64_t> numberIn(const std::string& word)
{
    std::int64_t number = 0;
    const char* const end = word.data() + word.size();
    const auto read = std::from_chars(word.data(), end, number);
    return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

/// "⟨E2 82⟩"
std::string writtenBytes(const std::string& bytes)
{
    std::string all;
    for (const char byte : bytes) {
        all += fmt::format("{}{:02X}", all.empty() ? "⟨" : " ", static_cast<unsigned char>(byte));
    }
    return all + "⟩";
}

/// The tokeniser of a file; of the file that was read last, and has not changed since, the one that was made then.
Result<std::shared_ptr<const text::Tokeniser>> tokeniserOf(const std::filesystem::path& file)
{
    struct Known
    {
        std::filesystem::path file;
        std::uintmax_t bytes = 0;
        std::filesystem::file_time_type changed;
        std::shared_ptr<const text::Tokeniser> tokeniser;
    };
    static std::mutex mutex;
    static Known last;
    std::error_code noSize;
    std::error_code noTime;
    const std::uintmax_t bytes = std::filesystem::file_size(file, noSize);
    const auto changed = std::filesystem::last_write_time(file, noTime);
    const std::lock_guard lock(mutex);
    const bool isKnown =
        last.tokeniser && !noSize && !noTime && last.file == file && last.bytes == bytes && last.changed == changed;
    if (!isKnown) {
        RETRO_TRY(text::Tokeniser read, text::Tokeniser::read(file));
        last = {file, bytes, changed, std::make_shared<const text::Tokeniser>(std::move(read))};
    }
    return last.tokeniser;
}

} // namespace

std::string LanguageWords::textOf(TokenId id) const
{
    const std::string bytes = m_tokeniser ? m_tokeniser->bytesOf(id) : std::string();
    if (bytes.empty()) {
        return fmt::format("#{}", id);
    }
    return text::invalidUtf8(bytes) ? writtenBytes(bytes) : bytes;
}

std::string LanguageWords::quoted(TokenId id) const
{
    return m_tokeniser ? fmt::format("\"{}\" ({})", base::visibleText(textOf(id)), id) : std::to_string(id);
}

Result<TokenId> LanguageWords::idOf(const std::string& word, bool takesFirst, std::int64_t words,
                                    const std::string& option) const
{
    const std::string where = fmt::format("{} \"{}\"", option, base::visibleText(word));
    if (const auto number = numberIn(word)) {
        const bool isThere = *number >= 0 && (words <= 0 || *number < words);
        return isThere ? Result<TokenId>(static_cast<TokenId>(*number))
                       : usageError(fmt::format("there is no token of this number; the model has {}", words), where);
    }
    if (!m_tokeniser) {
        return usageError("a word needs a tokenizer.json beside the model, or --tokenizer FILE; or give the number of "
                          "the token",
                          where);
    }
    if (const auto exact = m_tokeniser->findBytes(word)) {
        return *exact;
    }
    if (const auto written = m_tokeniser->find(word)) {
        return *written;
    }
    RETRO_TRY(const std::vector<text::Token> tokens, m_tokeniser->encode(word, false));
    if (tokens.empty()) {
        return usageError("this is no token at all; write a word", where);
    }
    if (tokens.size() == 1 || takesFirst) {
        return tokens.front().id;
    }
    std::string all;
    for (const text::Token& token : tokens) {
        all += (all.empty() ? "" : ", ") + quoted(token.id);
    }
    return usageError(fmt::format("this word is {} tokens: {}; name one of them by its number, or add --target-tokens "
                                  "to take the first",
                                  tokens.size(), all),
                      where);
}

Result<std::vector<LanguageToken>> LanguageWords::tokensOf(const std::string& text, bool withSpecials) const
{
    if (!m_tokeniser) {
        return usageError("a text needs a tokenizer.json beside the model, or --tokenizer FILE; or give --ids",
                          "--text");
    }
    RETRO_TRY(const std::vector<text::Token> found, m_tokeniser->encode(text, withSpecials));
    std::vector<LanguageToken> tokens;
    for (const text::Token& token : found) {
        tokens.push_back(
            {token.id, textOf(token.id), token.isPutIn ? std::nullopt : std::optional<text::Range>(token.place)});
    }
    return tokens;
}

std::vector<LanguageToken> LanguageWords::tokensOf(std::span<const std::int64_t> ids) const
{
    std::vector<LanguageToken> tokens;
    for (const std::int64_t id : ids) {
        const auto token = static_cast<TokenId>(id);
        tokens.push_back({token, id >= 0 ? textOf(token) : fmt::format("#{}", id), std::nullopt});
    }
    return tokens;
}

std::optional<TokenId> LanguageWords::blank() const
{
    for (const char* const written : {"[MASK]", "<mask>", "[UNK]", "<unk>", "[PAD]", "<pad>", "<|endoftext|>",
                                      "<|end_of_text|>", "</s>", "<eos>", "<|eot_id|>", "<|im_end|>"}) {
        if (const auto id = m_tokeniser ? m_tokeniser->find(written) : std::nullopt) {
            return id;
        }
    }
    return std::nullopt;
}

Result<LanguageWords> languageWords(const std::filesystem::path& model, const std::string& named, bool isNeeded,
                                    std::string& warning)
{
    const std::filesystem::path beside = model.parent_path() / "tokenizer.json";
    std::error_code failed;
    if (named.empty() && !std::filesystem::exists(beside, failed)) {
        return LanguageWords();
    }
    Result<std::shared_ptr<const text::Tokeniser>> read =
        tokeniserOf(named.empty() ? beside : std::filesystem::path(named));
    if (!read.ok()) {
        if (isNeeded || !named.empty()) {
            return read.error();
        }
        warning = "tokens are shown by their numbers: " + read.error().text();
        return LanguageWords();
    }
    return LanguageWords(std::move(read).value());
}

std::string lineText(const std::string& text)
{
    const bool isBlank = !text.empty() && std::ranges::all_of(text, [](char c) {
        return c == ' ' || c == '\n' || c == '\r' || c == '\t';
    });
    std::string line;
    for (const char c : text) {
        if (c == '\n') {
            line += "⏎";
        } else if (c == '\r') {
            line += "␍";
        } else if (c == '\t') {
            line += "⇥";
        } else if (c == ' ' && isBlank) {
            line += "␣";
        } else {
            line.push_back(c);
        }
    }
    return base::visibleText(line);
}

} // namespace retro::engine
