// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct stat;

namespace retro::base
{

/// Files that nothing may be written over while this lives: whoever opens an output asks (checkOutputPlace). A file is
/// known by its device and number, so also through links, as long as the name that it was read by leads to it.
class HeldFiles
{
public:
    HeldFiles() = default;
    ~HeldFiles();
    HeldFiles(const HeldFiles&) = delete;
    HeldFiles& operator=(const HeldFiles&) = delete;

    /// Holds a file that is there; `what` says in errors what it is: "the model".
    void add(const std::filesystem::path& path, const std::string& what);

private:
    friend class ReadingScope;
    void add(const std::filesystem::path& path, const struct stat& status, const std::string& what);

    std::vector<std::pair<std::uint64_t, std::uint64_t>> m_files; ///< device and number of each
};

/// Says what the files are that this thread opens while it lives. Scopes may lie in each other: the inner one says it,
/// all hold the files.
class ReadingScope
{
public:
    /// `what` is the file at `path`, "the model"; others are files of it. Without a path, each file is `what`.
    explicit ReadingScope(std::string what, std::filesystem::path path = {});
    ~ReadingScope();
    ReadingScope(const ReadingScope&) = delete;
    ReadingScope& operator=(const ReadingScope&) = delete;

    /// The files that were opened so far, held from then on.
    [[nodiscard]] std::shared_ptr<const HeldFiles> files() const { return m_files; }

private:
    friend Result<void> noteRead(const std::filesystem::path& path, const struct stat& status);
    [[nodiscard]] std::string wordsFor(const std::filesystem::path& path) const;
    void add(const std::filesystem::path& path, const struct stat& status, const std::string& what);

    std::string m_what;
    std::filesystem::path m_path;
    std::shared_ptr<HeldFiles> m_files = std::make_shared<HeldFiles>();
    ReadingScope* m_outer;
};

/// What this thread opens while it lives are files that the program goes on with: results of earlier calls, a card that
/// is changed. They are no inputs, and may be written.
class OwnResultsScope
{
public:
    OwnResultsScope();
    ~OwnResultsScope();
    OwnResultsScope(const OwnResultsScope&) = delete;
    OwnResultsScope& operator=(const OwnResultsScope&) = delete;
};

/// For a program that is one call: every file that it opens is held until it ends.
void holdAllThatIsRead();

/// Every reader of files says which it opened. Errors (Usage): the file is one that this call promised to write.
[[nodiscard]] Result<void> noteRead(const std::filesystem::path& path, const struct stat& status);
/// The same of a file that somebody else opens.
[[nodiscard]] Result<void> noteRead(const std::filesystem::path& path);

/// An output that a call was asked for: `option` "--run", `what` "the run". An output of `isGrown` gets more than one
/// write. Errors (Usage): it is a file that was read, or another output of the call.
[[nodiscard]] Result<void> promiseOutput(const std::filesystem::path& path, const std::string& option,
                                         const std::string& what, bool isGrown = false);

/// For who opens outputs: `place` (links followed) must be no file that is held. `path` is its name in errors (Usage).
[[nodiscard]] Result<void> checkNotHeld(const std::filesystem::path& place, const std::filesystem::path& path);
/// The same, of an output that is written now: one that was promised is written once.
[[nodiscard]] Result<void> noteWrite(const std::filesystem::path& place, const std::filesystem::path& path);

} // namespace retro::base
