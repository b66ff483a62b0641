// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <QByteArray>
#include <QObject>
#include <QString>
#include <QTemporaryDir>

#include <map>
#include <memory>

class QSocketNotifier;

namespace retro::app
{

/// A recorded run that a notebook sent: a file in the folder of the listener, and what is said of it.
struct LiveRun
{
    QString path;
    QString model;
    QString composite;
    QString target;
};

/// Takes recorded runs from Python processes of the same user on the same machine (retrograde.connect()), by a local
/// socket in the folder of the session; nothing listens before start(). Lines of JSON go both ways: the greeting names
/// a folder, which lives as long as this; a sender writes run files there and names them. The socket of POSIX and not
/// that of Qt, whose network library would bring proxies and Kerberos into the program. GUI thread.
class LiveListener final : public QObject
{
    Q_OBJECT

public:
    explicit LiveListener(QObject* parent = nullptr);
    ~LiveListener() override;

    /// Listens from now on; nothing where it does already. Errors: Output (no folder, no socket), with what to do.
    [[nodiscard]] base::Result<void> start();
    /// Nobody is listened to any more. Files that were sent stay.
    void stop();
    [[nodiscard]] bool isListening() const { return m_socket >= 0; }
    /// Path of the socket; empty while nothing listens.
    [[nodiscard]] const QString& place() const { return m_place; }
    /// Senders that are connected.
    [[nodiscard]] std::size_t senders() const { return m_senders.size(); }

signals:
    void sent(const retro::app::LiveRun& run);
    void sendersChanged();

private:
    struct Sender;

    [[nodiscard]] base::Result<void> listenAt(const QString& place);
    void accept();
    void rest();
    void read(int descriptor);
    void drop(int descriptor);
    [[nodiscard]] bool answer(int descriptor, const QByteArray& line);

    int m_socket = -1;
    QString m_place;
    std::unique_ptr<QTemporaryDir> m_folder; ///< of run files
    std::unique_ptr<QSocketNotifier> m_notifier;
    std::map<int, std::unique_ptr<Sender>> m_senders; ///< by descriptor
};

/// Folder of the sockets: that of the session (XDG_RUNTIME_DIR), else one of this user among the temporary files.
[[nodiscard]] QString liveFolder();

} // namespace retro::app
