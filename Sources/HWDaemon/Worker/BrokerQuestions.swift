// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Synchronization

/// The session's questions to the broker, which answers each with one packet, in order.
///
/// Used from all threads.
final class BrokerQuestions: Sendable {
    /// What became of a question.
    enum Outcome<Answer: Sendable>: Sendable {
        case answered(Answer)
        /// The broker is late; it handles the question when it reads it.
        case unanswered
        /// There is no broker any more.
        case gone
    }

    /// How long the broker may take to answer: less than any limit of a stall, because a broker of an earlier version never does.
    private static let timeout = Duration.seconds(2)
    /// How many answers to earlier questions did not come in time.
    private let late = Mutex(0)

    /// Asks one question and waits for the answer.
    func ask<Answer: Decodable & Sendable>(_ question: WorkerReport, _ type: Answer.Type) -> Outcome<Answer> {
        late.withLock { missing in
            var packet = PacketSocket.Packet.endOfFile
            do throws(TransportError) {
                // Late answers may have arrived meanwhile.
                while case .bytes = try PacketSocket.receive(from: WorkerDescriptor.broker) {
                    missing = max(missing - 1, 0)
                }
            } catch { return Outcome.gone }
            guard WorkerStartup.report(question) else { return Outcome.gone }
            let deadline = MonotonicTime.now + Self.timeout
            do throws(TransportError) {
                packet = try PacketSocket.receive(from: WorkerDescriptor.broker, deadline: deadline)
                while missing > 0, case .bytes = packet {
                    missing -= 1
                    packet = try PacketSocket.receive(from: WorkerDescriptor.broker, deadline: deadline)
                }
            } catch {
                missing += 1
                return Outcome.unanswered
            }
            guard case .bytes(let bytes) = packet else { return Outcome.gone }
            guard let answer = try? JSON.decode(type, from: bytes) else { return Outcome.unanswered }
            return Outcome.answered(answer)
        }
    }
}
