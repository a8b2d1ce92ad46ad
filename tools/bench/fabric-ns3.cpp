// The incast of fabric.ts in ns-3: so many hosts send UDP to one through one node, and the program prints what arrived,
// what was lost, and how long the simulation took.
//
//   fabric-ns3 SENDERS PACKETS ACKS
//
// PACKETS a sender. With ACKS = 1 the receiver answers each packet with one of the size of an ACK, as a transport does;
// with 0 the receiver only counts. The links are point-to-point, which are full duplex: Ethernet of ns-3 (CSMA) is not.
// The node in the middle looks at the destination and passes the packet on, which is less work than ns-3's router has
// with it. Senders share the receiver's link evenly, as congestion control would have them do, so that no long queue
// slows ns-3 down.
#include <ns3/inet-socket-address.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-address-helper.h>
#include <ns3/ipv4-header.h>
#include <ns3/node-container.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/point-to-point-net-device.h>
#include <ns3/queue.h>
#include <ns3/simulator.h>
#include <ns3/socket.h>
#include <ns3/string.h>
#include <ns3/traffic-control-helper.h>
#include <ns3/udp-client-server-helper.h>
#include <ns3/udp-server.h>
#include <ns3/udp-socket-factory.h>
#include <ns3/uinteger.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

// A frame of our fabric: 1024 bytes of payload and 58 of headers. Of these, 30 are PPP, IPv4 and UDP here.
constexpr uint32_t FRAME_BYTES = 1082;
constexpr uint32_t ACK_FRAME_BYTES = 62;
constexpr uint32_t HEADER_BYTES = 30;
constexpr double RATE_BPS = 100e9;
constexpr uint16_t PORT = 4791;

uint64_t answered = 0;
uint64_t returned = 0;

void Answer(ns3::Ptr<ns3::Socket> socket)
{
    ns3::Address from;
    while (socket->RecvFrom(from))
    {
        answered++;
        socket->SendTo(ns3::Create<ns3::Packet>(ACK_FRAME_BYTES - HEADER_BYTES), 0, from);
    }
}

void TakeAnswer(ns3::Ptr<ns3::Socket> socket)
{
    while (socket->Recv())
        returned++;
}

// The switch: by the last byte of an address, the link towards it.
std::vector<ns3::Ptr<ns3::NetDevice>> towards(256);

void Forward(ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet> packet, uint16_t protocol,
             const ns3::Address&, const ns3::Address&, ns3::NetDevice::PacketType)
{
    ns3::Ipv4Header header;
    packet->PeekHeader(header);
    const auto& out = towards[header.GetDestination().Get() & 0xff];
    out->Send(packet->Copy(), out->GetBroadcast(), protocol);
}

// Drops of every queue of a node's links.
uint64_t Dropped(ns3::Ptr<ns3::Node> node)
{
    uint64_t sum = 0;
    for (uint32_t index = 0; index < node->GetNDevices(); index++)
    {
        auto device = ns3::DynamicCast<ns3::PointToPointNetDevice>(node->GetDevice(index));
        if (device)
            sum += device->GetQueue()->GetTotalDroppedPackets();
    }
    return sum;
}

// A sender of the program's own, whose socket hears the answers: the application of ns-3 has it closed to them.
class Sender
{
  public:
    Sender(ns3::Ptr<ns3::Node> node, ns3::Ipv4Address to, uint32_t packets, ns3::Time interval)
        : m_socket(ns3::Socket::CreateSocket(node, ns3::UdpSocketFactory::GetTypeId())),
          m_left(packets),
          m_interval(interval)
    {
        m_socket->Bind();
        m_socket->Connect(ns3::InetSocketAddress(to, PORT));
        m_socket->SetRecvCallback(ns3::MakeCallback(&TakeAnswer));
    }

    void Send()
    {
        m_socket->Send(ns3::Create<ns3::Packet>(FRAME_BYTES - HEADER_BYTES));
        if (--m_left > 0)
            ns3::Simulator::Schedule(m_interval, &Sender::Send, this);
    }

  private:
    ns3::Ptr<ns3::Socket> m_socket;
    uint32_t m_left;
    ns3::Time m_interval;
};

} // namespace

int main(int argc, char** argv)
{
    if (argc != 4)
        return 2;
    const auto senders = static_cast<uint32_t>(std::atoi(argv[1]));
    const auto packets = static_cast<uint32_t>(std::atoi(argv[2]));
    const bool acks = std::atoi(argv[3]) != 0;
    ns3::Time::SetResolution(ns3::Time::PS);

    ns3::NodeContainer nodes;
    nodes.Create(senders + 2);
    const auto receiver = nodes.Get(senders);
    const auto middle = nodes.Get(senders + 1);
    ns3::InternetStackHelper internet;
    for (uint32_t host = 0; host <= senders; host++)
        internet.Install(nodes.Get(host));

    ns3::PointToPointHelper links;
    links.SetDeviceAttribute("DataRate", ns3::StringValue("100Gbps"));
    links.SetChannelAttribute("Delay", ns3::StringValue("1us"));
    links.SetQueue("ns3::DropTailQueue", "MaxSize", ns3::StringValue("1000000p"));
    ns3::Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    ns3::Ipv4Address destination;
    for (uint32_t host = 0; host <= senders; host++)
    {
        const auto devices = links.Install(nodes.Get(host), middle);
        const auto address = addresses.Assign(ns3::NetDeviceContainer(devices.Get(0))).GetAddress(0);
        // Queue discs come with addresses; links have their queues.
        ns3::TrafficControlHelper::Default().Uninstall(devices.Get(0));
        towards[address.Get() & 0xff] = devices.Get(1);
        destination = address;
    }
    middle->RegisterProtocolHandler(ns3::MakeCallback(&Forward), 0x0800, nullptr);

    const auto interval = ns3::Seconds(FRAME_BYTES * 8.0 * senders / RATE_BPS);
    ns3::Ptr<ns3::UdpServer> server;
    ns3::Ptr<ns3::Socket> answering;
    std::vector<std::unique_ptr<Sender>> own;
    if (acks)
    {
        answering = ns3::Socket::CreateSocket(receiver, ns3::UdpSocketFactory::GetTypeId());
        answering->Bind(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), PORT));
        answering->SetRecvCallback(ns3::MakeCallback(&Answer));
    }
    else
    {
        ns3::UdpServerHelper helper(PORT);
        server = ns3::DynamicCast<ns3::UdpServer>(helper.Install(receiver).Get(0));
    }
    for (uint32_t host = 0; host < senders; host++)
    {
        const auto start = ns3::NanoSeconds(10'000) + interval * host / senders;
        if (acks)
        {
            own.push_back(std::make_unique<Sender>(nodes.Get(host), destination, packets, interval));
            ns3::Simulator::Schedule(start, &Sender::Send, own.back().get());
            continue;
        }
        ns3::UdpClientHelper client(destination, PORT);
        client.SetAttribute("MaxPackets", ns3::UintegerValue(packets));
        client.SetAttribute("Interval", ns3::TimeValue(interval));
        client.SetAttribute("PacketSize", ns3::UintegerValue(FRAME_BYTES - HEADER_BYTES));
        client.Install(nodes.Get(host)).Start(start);
    }

    const auto began = std::chrono::steady_clock::now();
    ns3::Simulator::Run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;

    uint64_t dropped = 0;
    for (uint32_t index = 0; index < nodes.GetN(); index++)
        dropped += Dropped(nodes.Get(index));
    const uint64_t received = acks ? answered : server->GetReceived();
    std::printf("received %llu answers %llu dropped %llu seconds %.6f\n",
                static_cast<unsigned long long>(received),
                static_cast<unsigned long long>(returned),
                static_cast<unsigned long long>(dropped),
                took.count());
    ns3::Simulator::Destroy();
    return 0;
}
