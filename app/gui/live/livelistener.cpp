// SPDX-License-Identifier: Apache-2.0
#include "app/gui/live/livelistener.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSocketNotifier>
#include <QTimer>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace retro::app
{

namespace
{

constexpr std::size_t kMostSenders = 16;
constexpr qsizetype kLongestLine = 64 * 1024; // bytes
constexpr qsizetype kLongestText = 200;       // characters that are shown of a name
constexpr int kWaiting = 8;
constexpr int kMostLinesAtOnce = 32; // then the window has its turn
constexpr int kMostRefusals = 100;   // of one sender
constexpr int kRestMilliseconds = 1000;

/// A connection waits that cannot be taken now: nothing else is wrong.
bool lacksDescriptors(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

/// A folder that this user alone can enter; makes it where it is missing.
bool isOwnFolder(const QString& path)
{
    const QByteArray name = QFile::encodeName(path);
    if (::mkdir(name.constData(), S_IRWXU) != 0 && errno != EEXIST) {
        return false;
    }
    struct stat found
    {};
    return ::lstat(name.constData(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == ::getuid() &&
           (found.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

bool isOfThisUser(int descriptor)
{
    ucred who{};
    socklen_t size = sizeof who;
    return ::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == ::getuid();
}

QByteArray lineOf(const QJsonObject& said) { return QJsonDocument(said).toJson(QJsonDocument::Compact) + '\n'; }

/// A sender that does not read what it is told is of no interest.
void tell(int descriptor, const QByteArray& line)
{
    [[maybe_unused]] const ssize_t written =
        ::send(descriptor, line.constData(), static_cast<std::size_t>(line.size()), MSG_NOSIGNAL | MSG_DONTWAIT);
}

QString textIn(const QJsonObject& said, const char* key)
{
    return said.value(QLatin1String(key)).toString().left(kLongestText).simplified();
}

} // namespace

struct LiveListener::Sender
{
    QByteArray begun; ///< of a line
    int refusals = 0;
    std::unique_ptr<QSocketNotifier> notifier;
};

QString liveFolder()
{
    const QString session = qEnvironmentVariable("XDG_RUNTIME_DIR");
    return QDir::isAbsolutePath(session) && QFileInfo(session).isDir()
               ? session + QStringLiteral("/retrograde")
               : QDir::tempPath() + QStringLiteral("/retrograde-%1").arg(::getuid());
}

LiveListener::LiveListener(QObject* parent) : QObject(parent) {}

LiveListener::~LiveListener() { stop(); }

base::Result<void> LiveListener::start()
{
    if (isListening()) {
        return {};
    }
    const QString folder = liveFolder();
    if (!isOwnFolder(folder)) {
        return base::outputError("the folder for the socket cannot be made, or others may enter it; set "
                                 "XDG_RUNTIME_DIR to a folder of yours",
                                 folder.toStdString());
    }
    if (!m_folder) {
        m_folder = std::make_unique<QTemporaryDir>(QDir::tempPath() + QStringLiteral("/retrograde-runs-XXXXXX"));
    }
    if (!m_folder->isValid()) {
        const std::string why = m_folder->errorString().toStdString();
        m_folder.reset();
        return base::outputError("no folder for runs can be made: " + why, QDir::tempPath().toStdString());
    }
    return listenAt(folder + QStringLiteral("/live-%1.sock").arg(::getpid()));
}

base::Result<void> LiveListener::listenAt(const QString& place)
{
    const QByteArray name = QFile::encodeName(place);
    // Gets its name when it listens: who finds one may connect at once.
    const QByteArray until = QFile::encodeName(QFileInfo(place).path() + QStringLiteral("/new-%1").arg(::getpid()));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (static_cast<std::size_t>(std::max(name.size(), until.size())) >= sizeof address.sun_path) {
        return base::outputError("the path of the socket is too long; set XDG_RUNTIME_DIR to a shorter folder",
                                 place.toStdString());
    }
    std::memcpy(address.sun_path, until.constData(), static_cast<std::size_t>(until.size()));
    const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ::unlink(until.constData()); // of a process that had this number before
    if (made < 0 || ::bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(made, kWaiting) != 0 || ::rename(until.constData(), name.constData()) != 0) {
        const std::string why = std::strerror(errno);
        if (made >= 0) {
            ::close(made);
        }
        ::unlink(until.constData());
        return base::outputError("nothing can listen there: " + why, place.toStdString());
    }
    m_socket = made;
    m_place = place;
    m_notifier = std::make_unique<QSocketNotifier>(m_socket, QSocketNotifier::Read);
    connect(m_notifier.get(), &QSocketNotifier::activated, this, &LiveListener::accept);
    return {};
}

void LiveListener::stop()
{
    while (!m_senders.empty()) {
        drop(m_senders.begin()->first);
    }
    m_notifier.reset();
    if (m_socket >= 0) {
        ::close(m_socket);
        ::unlink(QFile::encodeName(m_place).constData());
    }
    m_socket = -1;
    m_place.clear();
}

void LiveListener::accept()
{
    const int descriptor = ::accept4(m_socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) {
        if (lacksDescriptors(errno)) {
            rest();
        }
        return;
    }
    if (m_senders.size() >= kMostSenders || !isOfThisUser(descriptor)) {
        ::close(descriptor);
        return;
    }
    auto sender = std::make_unique<Sender>();
    sender->notifier = std::make_unique<QSocketNotifier>(descriptor, QSocketNotifier::Read);
    // Queued: what is read may end the notifier that says so.
    connect(
        sender->notifier.get(), &QSocketNotifier::activated, this, [this, descriptor] { read(descriptor); },
        Qt::QueuedConnection);
    m_senders.emplace(descriptor, std::move(sender));
    tell(descriptor, lineOf({{QStringLiteral("retrograde"), 1},
                             {QStringLiteral("version"), QStringLiteral(RETRO_VERSION)},
                             {QStringLiteral("folder"), m_folder->path()}}));
    emit sendersChanged();
}

/// The connection would wake the window again and again until it can be taken.
void LiveListener::rest()
{
    m_notifier->setEnabled(false);
    QTimer::singleShot(kRestMilliseconds, m_notifier.get(), [this] { m_notifier->setEnabled(true); });
}

void LiveListener::read(int descriptor)
{
    const auto found = m_senders.find(descriptor);
    if (found == m_senders.end()) {
        return;
    }
    QByteArray& begun = found->second->begun;
    std::array<char, 4096> buffer{};
    ssize_t got = 0;
    while ((got = ::recv(descriptor, buffer.data(), buffer.size(), 0)) > 0 && begun.size() <= kLongestLine) {
        begun.append(buffer.data(), got);
    }
    const bool isOver = got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
    int lines = 0;
    for (qsizetype end = begun.indexOf('\n'); end >= 0; end = begun.indexOf('\n')) {
        if (++lines > kMostLinesAtOnce) {
            QMetaObject::invokeMethod(
                this, [this, descriptor] { read(descriptor); }, Qt::QueuedConnection);
            return;
        }
        const QByteArray line = begun.left(end);
        begun.remove(0, end + 1);
        if (!answer(descriptor, line)) {
            return;
        }
    }
    if (isOver || begun.size() > kLongestLine) {
        drop(descriptor);
    }
}

void LiveListener::drop(int descriptor)
{
    const auto found = m_senders.find(descriptor);
    if (found == m_senders.end()) {
        return;
    }
    found->second->notifier->setEnabled(false);
    m_senders.erase(found);
    ::close(descriptor);
    emit sendersChanged();
}

/// Files elsewhere are not taken: who sends has written them for this. False when the sender is gone.
bool LiveListener::answer(int descriptor, const QByteArray& line)
{
    const QJsonObject said = QJsonDocument::fromJson(line).object();
    const QFileInfo file(said.value(QLatin1String("run")).toString());
    const bool isHere = file.isFile() && file.suffix() == QLatin1String("retro") &&
                        file.canonicalPath() == QFileInfo(m_folder->path()).canonicalFilePath();
    if (isHere) {
        emit sent({file.canonicalFilePath(), textIn(said, "model"), textIn(said, "composite"), textIn(said, "target")});
    }
    const auto found = m_senders.find(descriptor);
    if (found == m_senders.end()) { // a listener of sent() stopped it
        return false;
    }
    if (isHere) {
        tell(descriptor, lineOf({{QStringLiteral("taken"), file.fileName()}}));
        return true;
    }
    tell(descriptor,
         lineOf({{QStringLiteral("refused"), tr("a run is a .retro file in the folder that the greeting names")}}));
    if (++found->second->refusals < kMostRefusals) {
        return true;
    }
    drop(descriptor);
    return false;
}

} // namespace retro::app

#include "moc_livelistener.cpp"
